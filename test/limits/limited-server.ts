import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { createKey } from "../harness/cli.js";
import type { Answer, Client } from "../harness/client.js";
import { type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

/** Each transport, and two event loops. */
export const variants: readonly (readonly [http: string, threads: string])[] = [
  ["uws", "1"],
  ["node", "1"],
  ["uws", "2"],
];

/** For `waitFor`: joust measures at most a twentieth of the time, so a slow measurement is valid for long. */
export const untilMeasured = { timeoutMs: 60_000 };

/** A server with a limits file, for the tests of one describe block. */
export interface LimitedServer {
  readonly server: Server;
  /** The configured admin key, without limits. */
  readonly client: Client;
  /** Keys with the names `read` and `write`. */
  readonly reader: Client;
  readonly writer: Client;
  /** Creates a further key. */
  newKey(role: "read" | "write" | "admin"): Promise<{ key: string; id: string }>;
  /** Replaces the limits, and waits until they are used. */
  setLimits(limits: object): Promise<void>;
  /** Replaces the file without waiting. */
  writeFile(text: string): void;
  metric(name: string): Promise<number>;
}

const unlimited = { requests_per_second: 1e6, burst: 1e6 };

/** `catalog`: provides the address of a Postgres catalog before the tests run; default: SQLite. */
export function setupLimitedServer(
  http: string,
  threads: string,
  catalog?: () => Promise<string>,
): LimitedServer {
  const dir = tempDir("limits");
  const file = join(dir, "limits.yaml");
  const writeFile = (text: string) => writeFileSync(file, text);
  let server: Server;
  let reader: Client;
  let writer: Client;
  let catalogArgs: string[] = [];
  const newKey = (role: "read" | "write" | "admin") => createKey(server.root, role, catalogArgs);
  beforeAll(async () => {
    writeFile("");
    if (catalog) catalogArgs = ["--catalog", await catalog()];
    const args = ["--limits", file, "--http", http, "--http-threads", threads, ...catalogArgs];
    server = await startServer({ args });
    reader = server.client.withKey((await newKey("read")).key);
    writer = server.client.withKey((await newKey("write")).key);
  });
  afterAll(async () => {
    await server.stop();
    removeDir(dir);
  });
  const reloads = () => server.output().split("reloaded the limits").length;
  return {
    get server() {
      return server;
    },
    get client() {
      return server.client;
    },
    get reader() {
      return reader;
    },
    get writer() {
      return writer;
    },
    writeFile,
    newKey,
    async setLimits(limits) {
      const before = reloads();
      // Requests of the tests without a key do not count unless a test limits them.
      const unauthenticated = { ...unlimited, per_address: unlimited };
      writeFile(JSON.stringify({ unauthenticated, ...limits }));
      process.kill(server.pid, "SIGHUP");
      await waitFor("the limits are reloaded", () => reloads() > before);
    },
    async metric(name) {
      const { text } = await server.client.get("/metrics");
      const line = text.split("\n").find((line) => line.startsWith(`${name} `));
      return Number(line?.slice(name.length + 1) ?? Number.NaN);
    },
  };
}

/** Checks the reply of a request that a limit refuses. */
export function expectRefusal(answer: Answer, limit: string, message: RegExp): void {
  expect([answer.status, answer.text]).toEqual([429, expect.stringMatching(message)]);
  expect(answer.json).toMatchObject({ code: 21, status: 429, limit });
  expect(answer.json.error).toContain(`(limit \`${limit}\`)`);
  const retryAfter = answer.headers.get("retry-after");
  expect(retryAfter).toMatch(/^[1-9]\d*$/);
  expect(answer.json.error).toContain(`after ${retryAfter} s`);
}

/** The number of answers of each status. */
export function countStatuses(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
