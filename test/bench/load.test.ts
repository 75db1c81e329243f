import { spawn, spawnSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { autocannonLoad } from "../../bench/load/autocannon.mjs";
import { wrkLoad } from "../../bench/load/wrk.mjs";
import { cpuSeconds, processTree, residentBytes } from "../../bench/measure/processes.mjs";

const hasWrk = spawnSync("wrk", ["--version"]).error === undefined;
const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);

let server: Server;
let url: string;
let seen: { line: string; header: string; body: Buffer }[];

/** Answers every request, and `/fail` with an error. */
beforeEach(async () => {
  seen = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const line = `${request.method} ${request.url}`;
      const header = String(request.headers["x-test"]);
      seen.push({ line, header, body: Buffer.concat(chunks) });
      response.statusCode = request.url === "/fail" ? 500 : 200;
      response.end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const tools = { autocannon: autocannonLoad, ...(hasWrk ? { wrk: wrkLoad } : {}) };

describe.each(Object.entries(tools))("the load generator %s", (_name, load) => {
  test("sends the requests in order, byte for byte, and counts the responses", async () => {
    const requests = [
      { method: "POST", path: "/a", headers: { "x-test": 'quoted "one"' }, body: bytes },
      { method: "POST", path: "/b", headers: { "x-test": "two" }, body: "short" },
      { method: "GET", path: "/c", headers: { "x-test": "three" } },
    ];
    const result = await load({ url, requests, clients: 1, seconds: 1 });
    // The last request may still be in flight at the end.
    expect(seen.length - result.requests).toBeLessThanOrEqual(1);
    expect(result.requests).toBeGreaterThan(10);
    expect(result.failures).toBe(0);
    expect(result.p50).toBeGreaterThan(0);
    expect(result.p95).toBeGreaterThanOrEqual(result.p50);
    expect(result.p99).toBeGreaterThanOrEqual(result.p95);
    // wrk starts with the second request.
    const first = seen.findIndex(({ line }) => line === "POST /a");
    expect(seen.slice(first, first + 4)).toEqual([
      { line: "POST /a", header: 'quoted "one"', body: Buffer.from(bytes) },
      { line: "POST /b", header: "two", body: Buffer.from("short") },
      { line: "GET /c", header: "three", body: Buffer.alloc(0) },
      { line: "POST /a", header: 'quoted "one"', body: Buffer.from(bytes) },
    ]);
  });

  test("counts failures", async () => {
    const requests = [{ method: "GET", path: "/fail", headers: {} }];
    const result = await load({ url, requests, clients: 2, seconds: 1 });
    expect(result.failures).toBeGreaterThan(10);
  });
});

test.runIf(process.platform === "linux")(
  "the CPU time of a process includes its children",
  async () => {
    const busy = "const end = Date.now() + 400; while (Date.now() < end);";
    const parent = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(
      `${busy} setTimeout(() => {}, 60_000)`,
    )}]); setTimeout(() => {}, 60_000)`;
    const child = spawn(process.execPath, ["-e", parent]);
    try {
      await expect.poll(() => processTree(child.pid ?? 0).length, { timeout: 20_000 }).toBe(2);
      const pids = processTree(child.pid ?? 0);
      // The parent may have used as much CPU time before the child started.
      const ofChild = () => (cpuSeconds(pids) ?? 0) - (cpuSeconds([child.pid ?? 0]) ?? 0);
      await expect.poll(ofChild, { timeout: 20_000 }).toBeGreaterThan(0.1);
      expect(residentBytes(pids)).toBeGreaterThan(4 * 2 ** 20);
    } finally {
      for (const pid of processTree(child.pid ?? 0)) process.kill(pid, "SIGKILL");
    }
  },
);
