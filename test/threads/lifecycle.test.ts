import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { items } from "../harness/arrow.js";
import { CLI_MAIN } from "../harness/cli.js";
import { findProgram } from "../harness/programs.js";
import { newKey } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { head } from "../harness/socket.js";
import { tempDir } from "../harness/temp.js";
import { waitForOutput } from "../harness/wait-for-output.js";
import { connections } from "./connections.js";

const two = ["--http-threads", "2"];

it("more than one HTTP thread is supported on Linux only", () => {
  const dependencies = { env: {}, cwd: "/", platform: "darwin" as const };
  expect(() => loadConfig(two, dependencies)).toThrow(/--http-threads must be 1 on darwin/);
  expect(loadConfig([], dependencies).httpThreads).toBe(1);
});

describe.runIf(process.platform === "linux")("HTTP threads", () => {
  it.each([[[]], [two]])(
    "do not share the port of another process started with %j",
    async (args) => {
      const server = await startServerForTest({ args });
      const again = [CLI_MAIN, "serve", tempDir("root"), ...two, "--port", String(server.port)];
      const second = spawnSync(process.execPath, again, { encoding: "utf8", timeout: 20_000 });
      expect(second.stderr).toBe(
        `joust: cannot listen on 127.0.0.1:${server.port}: the port is in use: choose another --port, or stop the program that listens on it\n`,
      );
      expect(second.status).toBe(1);
    },
  );

  it("stop after all of them have finished, with open connections and running requests", async () => {
    const [root, key] = [tempDir("root"), newKey()];
    const server = await startServerForTest({ root, key, args: two });
    const each = connections(server, 16);
    await each[0]?.post("/v1/table/t/create", items(1));
    const failures: unknown[] = [];
    let answered = 0;
    let stopping = false;
    const asking = each.map(async (connection, n) => {
      for (let from = 1; !stopping; from++) {
        const reply = await connection.post(
          "/v1/table/t/insert",
          items(1, { from: from * 16 + n }),
        );
        if (reply.status !== 200) failures.push(reply);
        answered++;
      }
    });
    while (answered < 32) await each[0]?.post("/v1/table/t/count_rows");
    stopping = true;
    // The last request of each connection is in flight.
    const exit = server.stop();
    await Promise.all(asking.map((asks) => asks.catch((error) => failures.push(error))));
    expect(failures).toEqual([]);
    expect(await exit).toBe(0);
    const reopened = await startServerForTest({ root, key, args: two });
    expect((await reopened.client.post("/v1/table/t/count_rows")).json).toBe(answered + 1);
  });

  it("stop at the second signal, whichever of them has a running request", async () => {
    const server = await startServerForTest({ args: two });
    const sockets = Array.from({ length: 12 }, () => connect(server.port, "127.0.0.1"));
    for (const socket of sockets) {
      socket.on("error", () => {});
      const lines = ["POST /v1/table/never/create HTTP/1.1", "Host: x", "Content-Length: 1000000"];
      socket.write(head(...lines, `Authorization: Bearer ${server.key}`));
    }
    // Those that are asked later are answered later.
    await Promise.all(connections(server, 12).map((one) => one.post("/v1/namespace/$/list")));
    process.kill(server.pid, "SIGINT");
    await waitForOutput(server, "stopping");
    expect(await server.stop("SIGINT")).toBe(1);
    for (const socket of sockets) socket.destroy();
  });

  it("stop with the server, also several on one core", async () => {
    const taskset = findProgram("taskset");
    expect(taskset).toBeDefined();
    const server = await startServerForTest({ args: ["--http-threads", "4"] });
    execFileSync(taskset as string, ["--all-tasks", "--cpu-list", "--pid", "0", `${server.pid}`]);
    const each = connections(server, 16);
    await each[0]?.post("/v1/table/t/create", items(10));
    const replies = await Promise.all(each.map((one) => one.post("/v1/table/t/count_rows")));
    expect(replies.map(({ json }) => json)).toEqual(each.map(() => 10));
    expect(await server.stop()).toBe(0);
  });

  it("stop the whole server when one of them fails", async () => {
    const folder = tempDir("failing");
    const [trigger, preload] = [join(folder, "fail"), join(folder, "preload.cjs")];
    writeFileSync(
      preload,
      `const { existsSync } = require("node:fs");
       const { isMainThread } = require("node:worker_threads");
       if (!isMainThread) setInterval(() => {
         if (existsSync(${JSON.stringify(trigger)})) throw new Error("as the test wants it");
       }, 10);`,
    );
    const env = { NODE_OPTIONS: `--require=${preload}` };
    const server = await startServerForTest({ args: ["--http-threads", "3"], env });
    const each = connections(server, 16);
    await Promise.all(each.map((one) => one.post("/v1/namespace/$/list")));
    writeFileSync(trigger, "");
    expect(await server.exited).toBe(1);
    await waitForOutput(server, "as the test wants it");
    await waitForOutput(server, "a thread that serves requests has exited; the server stops");
    await expect(server.client.get("/healthz")).rejects.toThrow();
  });
});
