/**
 * Generated hostile requests. `npm run test:hostile -- REQUESTS --seed N` sends more of them, and
 * `npm run test:hostile -- --seed N --at INDEX` repeats one.
 */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ServerOptions, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { Escapes } from "./escapes.js";
import { faultLines } from "./oracle.js";
import { places } from "./places.js";
import type { Report } from "./report.js";
import { runHostile } from "./run.js";

const seed = Number(process.env.JOUST_TEST_SEED ?? 1);
const requests = Number(process.env.JOUST_TEST_HOSTILE_REQUESTS ?? 3_000);
const at = process.env.JOUST_TEST_HOSTILE_AT;
/** The name of the only server that gets requests. */
const only = process.env.JOUST_TEST_HOSTILE_SERVER;

interface Setting {
  readonly name: string;
  /** The share of the requests. */
  readonly share: number;
  readonly options: (folder: string) => ServerOptions;
}

/** A query that takes long ends early, and no commit waits for a disk. */
const common = ["--query-timeout", "2s", "--durability", "os", "--log-level", "warn"];

const settings: readonly Setting[] = [
  { name: "keys", share: 0.8, options: () => ({ args: common }) },
  {
    name: "open",
    share: 0.1,
    options: () => ({
      args: [...common, "--auth", "none"],
      key: null,
      env: { JOUST_HTTP: "node" },
    }),
  },
  {
    name: "limits",
    share: 0.1,
    options(folder) {
      const file = join(folder, "limits.yaml");
      writeFileSync(
        file,
        "defaults:\n  caller: { requests_per_second: 100000, concurrent_queries: 2, jobs: 10 }\n" +
          "unauthenticated: { requests_per_second: 2, burst: 4 }\n",
      );
      return { args: [...common, "--limits", file] };
    },
  },
];

/** The share of the requests that succeed, at least. */
const LEAST_SHARE = 0.1;

/** Requests to one server after which every operation has succeeded at least once. */
const MANY = 40_000;

/** They need the token of a job that runs on a Ray cluster. */
const ofRemoteJobs = ["ClaimRemoteJob", "GetRemoteOrder", "ReportRemoteWork"];
/** The server refuses these: some by design, and those of a configuration that it does not have. */
const neverSucceeds = new Set([
  ...places.map(({ operation }) => operation.id).filter((id) => id.startsWith("Unserved")),
  ...ofRemoteJobs,
]);

describe(`hostile requests (JOUST_TEST_SEED=${seed})`, () => {
  it.each(settings.filter(({ name }) => only === undefined || name === only))(
    "get no 5xx reply and do not stop a server with $name",
    async ({ name, share, options }) => {
      const folder = tempDir("hostile");
      onTestFinished(() => removeDir(folder));
      const root = join(folder, "root");
      mkdirSync(root);
      const server = await startServer({ root, ...options(folder) });
      onTestFinished(async () => {
        await server.stop();
      });
      const before = readdirSync(folder);
      const escapes = new Escapes(root);
      const range =
        at === undefined
          ? { requests: Math.ceil(only === undefined ? requests * share : requests) }
          : { requests: 1, from: Number(at) };
      const { report, failures, memory } = await runHostile(server, {
        name,
        seed,
        ...range,
        log: (line) => console.log(line),
      });
      if (range.requests >= MANY || failures.length > 0) {
        print(report, memory);
      }
      expect(failures).toEqual([]);
      // Many requests must get behind the checks of their form.
      expect(report.succeeded / report.sent).toBeGreaterThan(LEAST_SHARE);
      expect(await server.stop()).toBe(0);
      expect(faultLines(server.output())).toEqual([]);
      expect(escapes.found(folder)).toEqual([]);
      expect(readdirSync(folder)).toEqual(before);
      expect(range.requests < 100_000 || growth(memory) < 1.5).toBe(true);
      if (range.requests >= MANY) {
        const missing = report.withoutSuccess().filter((id) => !neverSucceeds.has(id));
        expect(missing).toEqual([]);
      }
    },
    60_000 + requests * 20,
  );
});

function print(report: Report, memory: readonly number[]): void {
  const mib = memory.map((bytes) => Math.round(bytes / 2 ** 20));
  console.log(`${report}\nmemory at the start and at each check, MiB: ${mib.join(", ")}`);
  console.log(`without success: ${report.withoutSuccess().join(", ")}`);
}

/** Memory at the end, relative to its maximum in the first half of the run. */
function growth(memory: readonly number[]): number {
  const half = memory.slice(0, Math.ceil(memory.length / 2));
  return (memory.at(-1) ?? 0) / Math.max(...half);
}

it("every operation of the OpenAPI document gets hostile requests", async () => {
  const server = await startServer();
  onTestFinished(async () => {
    await server.stop();
  });
  const { paths } = (await server.client.get("/openapi.json")).json;
  const served = new Set(places.map(({ path }) => path));
  expect(Object.keys(paths).filter((path) => !served.has(path))).toEqual([]);
});
