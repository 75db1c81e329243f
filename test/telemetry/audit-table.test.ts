import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tableFromIPC } from "apache-arrow";
import { describe, expect, it, onTestFinished } from "vitest";
import { ErrorCode, JoustError } from "../../src/foundation/errors.js";
import { AuditTable, type AuditTarget } from "../../src/telemetry/audit/audit-table.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { items } from "../harness/arrow.js";
import { createKey, runCli } from "../harness/cli.js";
import type { Client } from "../harness/client.js";
import { expectFailure } from "../harness/expect-failure.js";
import { startServerForTest } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const silentLog = createLogger("silent");
const LOCATION = "_audit/log.lance";
const newLog = (): string => join(tempDir("audit"), "audit.log");
const args = (path: string) => ["--audit-log", path, "--audit-log-table", "on"];

describe("the audit table", () => {
  it("has the lines of the log after a stop, and becomes a table only if an admin registers it", async () => {
    const [root, path] = [tempDir("root"), newLog()];
    const first = await startServerForTest({ root, args: args(path) });
    const { client, key } = first;
    await client.createTable("t", items(3));
    const reader = client.withKey((await createKey(root, "read")).key);
    expectFailure(await reader.post("/v1/table/t/drop"), 403, 15);
    await client.ok("/v1/sql", { query: "INSERT INTO t SELECT * FROM t" });
    await first.stop();

    const second = await startServerForTest({ root, key, args: args(path) });
    const listed = async () => (await second.client.get("/v1/table")).json.tables;
    expect(await listed()).toEqual(["t"]);
    const register = { location: LOCATION };
    const other = second.client.withKey((await createKey(root, "write")).key);
    for (const location of [LOCATION, "_audit", "_audit/other.lance"]) {
      const declare = (by: Client) => by.post("/v1/table/audit/declare", { location });
      expectFailure(await declare(other), 403, 15);
      expectFailure(await declare(second.client), 400, 13, /reserved for the audit table/);
    }
    const clone = await other.post("/v1/table/audit/clone", { source_location: LOCATION });
    expectFailure(clone, 403, 15);
    expectFailure(await other.post("/v1/table/audit/register", register), 403, 15);
    await second.client.ok("/v1/table/audit/register", register);
    // With this location the server finds that the table is registered.
    const { location } = await second.client.ok("/v1/table/audit/describe");
    expect(location).toBe(`${root}/${LOCATION}`);
    const rows = async (condition: string) => {
      const columns = "identity_name, operation, object, status, error, parts";
      const query = `SELECT ${columns} FROM audit WHERE ${condition} ORDER BY time`;
      const accept = { accept: "application/json" };
      const answer = await second.client.request("/v1/sql", { body: { query }, headers: accept });
      return answer.json.rows;
    };
    expect(await rows("operation IN ('CreateTable', 'DropTable', 'ExecuteSql')")).toEqual([
      expect.objectContaining({ operation: "CreateTable", object: "t", status: 200 }),
      expect.objectContaining({ operation: "DropTable", object: "t", status: 403, error: 15 }),
      expect.objectContaining({
        operation: "ExecuteSql",
        status: 200,
        parts: JSON.stringify([
          { operation: "InsertIntoTable", object: "t" },
          { operation: "ExecuteSql", object: "t" },
        ]),
      }),
    ]);
    const recent = "time > now() - INTERVAL '1 hour' AND time <= now() AND ms > 0";
    expect((await rows(recent)).length).toBeGreaterThanOrEqual(3);
    await second.stop();
    const third = await startServerForTest({ root, key, args: args(path) });
    const count = { predicate: "operation = 'RegisterTable'" };
    // Both requests of the second server, the refused one too.
    expect(await third.client.count("audit", count)).toBe(2);
  });

  it("is made again after it was dropped, while the server runs", async () => {
    const root = tempDir("root");
    const server = await startServerForTest({ root, args: args(newLog()) });
    const written = async () => {
      const { text } = await server.client.get("/metrics");
      return Number(/^joust_audit_table_rows_total (\d+)$/m.exec(text)?.[1]);
    };
    const slow = { timeoutMs: 60_000 };
    await waitFor("the first rows", async () => (await written()) > 0, slow);
    rmSync(join(root, "_audit"), { recursive: true });
    const before = await written();
    await waitFor("more rows", async () => (await written()) > before, slow);
    await server.client.ok("/v1/table/audit/register", { location: LOCATION });
    expect(await server.client.count("audit")).toBeGreaterThan(0);
  });

  it("needs the file", async () => {
    const started = await runCli(["serve", tempDir("root"), "--audit-log-table", "on"]);
    expect(started.code).not.toBe(0);
    expect(started.err).toContain("--audit-log-table needs --audit-log");
  });
});

describe("the copy of the lines", () => {
  const line = (number: number) =>
    `${JSON.stringify({ time: new Date(number).toISOString(), status: 200, ms: number })}\n`;
  const missing = new JoustError(ErrorCode.TableNotFound, "there is no table");
  const times = { interval: 5, longestPause: 20, closing: 200 };

  /** A table that fails until `works` is called. */
  function failing() {
    let fails = true;
    const sizes: number[] = [];
    const store = async (rows: Uint8Array) => {
      if (fails) throw new Error("the disk is full");
      sizes.push(rows.byteLength);
    };
    const target: AuditTarget = { create: store, append: store, maintain: async () => {} };
    return { target, sizes, works: () => (fails = false) };
  }

  it("continues after failures, and loses no line below the bound", async () => {
    const { target, works } = failing();
    const table = new AuditTable(target, silentLog, times);
    for (let number = 0; number < 12_000; number++) table.append(line(number), 1);
    await waitFor("a failure", () => table.counters().writeErrors > 2);
    works();
    await waitFor("all rows", () => table.counters().rows === 12_000);
    expect(table.counters()).toMatchObject({ rows: 12_000, lost: 0 });
    await table.close();
  });

  it("pauses longer after each failure while new lines arrive", async () => {
    const { target } = failing();
    const attempts: number[] = [];
    const append = async (rows: Uint8Array) => {
      attempts.push(performance.now());
      await sleep(20);
      await target.append(rows);
    };
    const pauses = { interval: 10, longestPause: 1_000, closing: 10 };
    const table = new AuditTable({ ...target, append }, silentLog, pauses);
    const arriving = setInterval(() => table.append(line(1), 1), 2);
    onTestFinished(() => clearInterval(arriving));
    await waitFor("five attempts", () => attempts.length >= 5);
    // After four failures a pause has at least 10 ms * 2 ** 4.
    expect((attempts[4] as number) - (attempts[3] as number)).toBeGreaterThanOrEqual(160);
    await table.close();
  });

  it("loses the oldest lines beyond the bound, and counts them", async () => {
    const { target, works } = failing();
    const table = new AuditTable(target, silentLog, { ...times, closing: 60_000 });
    table.append(Array.from({ length: 60_000 }, (_, number) => line(number)).join(""), 60_000);
    await waitFor("a failure", () => table.counters().writeErrors > 0);
    works();
    await table.close();
    expect(table.counters()).toMatchObject({ rows: 50_000, lost: 10_000 });
  });

  it("keeps and converts a bounded number of bytes, however long the lines are", async () => {
    const { target, sizes, works } = failing();
    const table = new AuditTable(target, silentLog, { ...times, closing: 60_000 });
    const object = "x".repeat(100_000);
    for (let number = 0; number < 500; number++) {
      table.append(
        `${JSON.stringify({ time: new Date(number), object, status: 200, ms: 1 })}\n`,
        1,
      );
    }
    await waitFor("a failure", () => table.counters().writeErrors > 0);
    works();
    await table.close();
    const { rows, lost } = table.counters();
    expect(rows + lost).toBe(500);
    // 32 MiB of lines, and an append that failed.
    expect(rows).toBeGreaterThan(300);
    expect(rows).toBeLessThan(360);
    expect(Math.max(...sizes)).toBeLessThan(1_500_000);
  });

  it("loses only the lines that the table refuses, and does not wait for them", async () => {
    const refused = [7, 900, 901];
    const target: AuditTarget = {
      create: async () => {},
      maintain: async () => {},
      async append(rows) {
        const found = tableFromIPC(rows).getChild("status")?.toArray() as Int32Array;
        if (refused.some((status) => found.includes(status))) {
          throw new JoustError(ErrorCode.InvalidInput, "the table does not take this row");
        }
      },
    };
    const table = new AuditTable(target, silentLog, { ...times, closing: 60_000 });
    const lines = Array.from(
      { length: 1_000 },
      (_, status) => `${JSON.stringify({ time: new Date(1), status, ms: 1 })}\n`,
    );
    table.append([...lines, "no JSON\n"].join(""), 1_001);
    await waitFor("an end of each line", () => {
      const { rows, lost } = table.counters();
      return rows + lost === 1_001;
    });
    expect(table.counters()).toMatchObject({ rows: 997, lost: 4 });
    table.append(line(1), 1);
    await table.close();
    expect(table.counters()).toMatchObject({ rows: 998, lost: 4 });
  });

  it("pauses longer after each refusal if the table refuses every line", async () => {
    const attempts: number[] = [];
    const target: AuditTarget = {
      create: async () => {},
      maintain: async () => {},
      async append() {
        attempts.push(performance.now());
        throw new JoustError(ErrorCode.InvalidInput, "the table has other columns");
      },
    };
    const pauses = { interval: 10, longestPause: 1_000, closing: 10 };
    const table = new AuditTable(target, silentLog, pauses);
    table.append(Array.from({ length: 12_000 }, (_, number) => line(number)).join(""), 12_000);
    const arriving = setInterval(() => table.append(line(1), 1), 2);
    onTestFinished(() => clearInterval(arriving));
    await waitFor("refusals", () => attempts.length >= 28);
    // The first 24 may be those of single lines. After three more a pause has at least 10 ms * 2 ** 3.
    expect((attempts[27] as number) - (attempts[26] as number)).toBeGreaterThanOrEqual(80);
    await table.close();
  });

  it("does not wait for a storage that hangs when the server stops", async () => {
    const hang = () => new Promise<never>(() => {});
    const table = new AuditTable({ create: hang, append: hang, maintain: hang }, silentLog, times);
    table.append(line(1), 1);
    await table.close();
    expect(table.counters()).toMatchObject({ rows: 0, lost: 1 });
  });

  it("creates the table, also if another server does so at the same time", async () => {
    const calls: string[] = [];
    let exists = false;
    const target: AuditTarget = {
      async create() {
        calls.push("create");
        exists = true;
        throw new JoustError(ErrorCode.TableAlreadyExists, "the table already exists");
      },
      async append() {
        calls.push("append");
        if (!exists) throw missing;
      },
      maintain: async () => {},
    };
    const table = new AuditTable(target, silentLog, times);
    table.append(line(1), 1);
    await table.close();
    expect([calls, table.counters().rows]).toEqual([["append", "create", "append"], 1]);
  });
});
