/** Flight SQL decides as HTTP: roles, grants, limits, deadlines, the audit log. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { tableObject } from "../../src/catalog/grants/grants.js";
import { setupGrants } from "../auth/grants/grant-callers.js";
import { items } from "../harness/arrow.js";
import { createKey } from "../harness/cli.js";
import type { Json } from "../harness/client.js";
import { FlightClient, type FlightError } from "../harness/flight-client.js";
import { slowText } from "../harness/jobs.js";
import { setupServer, startServerForTest } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { listTables } from "./list-tables.js";
import { sqlPort } from "./sql-port.js";

/** The gRPC codes. */
const INVALID = 3;
const TIMED_OUT = 4;
const NOT_FOUND = 5;
const DENIED = 7;
const EXHAUSTED = 8;
const UNAUTHENTICATED = 16;

const failure = (work: Promise<unknown>): Promise<FlightError> =>
  work.then(
    () => expect.fail("the call succeeded"),
    (error) => error,
  );

/** Joins tables for long enough that a deadline ends it. */
const LONG =
  "SELECT count(*) FROM big a CROSS JOIN big b CROSS JOIN big c WHERE a.id + b.id > c.id";

describe("a caller", () => {
  const joust = setupServer();
  const grants = setupGrants(joust);
  const connect = (key: string) =>
    new FlightClient(`http://127.0.0.1:${sqlPort(joust.server)}`, key);
  let granted: FlightClient;

  beforeAll(async () => {
    const { client, root } = joust;
    for (const name of ["ns", "hidden"]) await client.createNamespace(name);
    for (const name of ["t", "ns$t", "hidden$t"]) await client.createTable(name, items(5));
    const { key, id } = await createKey(root, "none");
    await grants.grants.grant(`key:${id}`, tableObject(["ns", "t"]), ["select", "insert"]);
    granted = connect(key);
  });

  it("without a role or a grant reads nothing", async () => {
    const { key } = await createKey(joust.root, "none");
    const stranger = connect(key);
    for (const name of ["t", "ns.t", "missing"]) {
      expect((await failure(stranger.sql(`SELECT * FROM ${name}`))).code, name).toBe(NOT_FOUND);
    }
    const listed = await stranger.sql("SELECT table_name FROM information_schema.tables");
    expect(listed.numRows).toBe(0);
    stranger.close();
  });

  it("with a grant on one table reads only it", async () => {
    expect((await granted.sql("SELECT * FROM ns.t")).numRows).toBe(5);
    const listed = await granted.sql(
      "SELECT table_schema, table_name FROM information_schema.tables",
    );
    expect(listed.toArray().map(String)).toEqual(['{"table_schema": "ns", "table_name": "t"}']);
    for (const sql of [
      "SELECT * FROM t",
      "SELECT * FROM hidden.t",
      "SELECT * FROM ns.t JOIN hidden.t USING (id)",
      "INSERT INTO ns.t SELECT * FROM hidden.t",
      "DELETE FROM hidden.t",
    ]) {
      expect((await failure(granted.sql(sql))).code, sql).toBe(NOT_FOUND);
    }
    const headers = { database: "hidden" };
    expect((await failure(granted.sql("SELECT * FROM t", { headers }))).code).toBe(NOT_FOUND);
  });

  it("changes what its grants allow, and nothing else", async () => {
    const inserted = await granted.sql("INSERT INTO ns.t SELECT * FROM ns.t WHERE id < 2");
    expect(inserted.toArray().map(String)).toEqual(['{"count": 2}']);
    expect(await joust.client.count("ns$t")).toBe(7);
    const denied = await failure(granted.sql("DELETE FROM ns.t"));
    expect(denied.code).toBe(DENIED);
    expect(denied.message).toMatch(/privilege delete on table "ns\$t"/);
    expect(await joust.client.count("ns$t")).toBe(7);
    expect((await failure(granted.sql("CREATE TABLE ns.u AS SELECT 1 AS x"))).code).toBe(DENIED);
  });

  it("learns types of parameters only from tables that it may read", async () => {
    const { key, id } = await createKey(joust.root, "none");
    await grants.grants.grant(`key:${id}`, tableObject(["ns", "t"]), ["insert", "update"]);
    const writer = connect(key);
    for (const [sql, type] of [
      ["INSERT INTO ns.t (id) VALUES ($1)", "Int64"],
      ["DELETE FROM ns.t WHERE id = $1", "Int64"],
      ["UPDATE ns.t SET name = 'x' WHERE id = $1", "Int64"],
    ] as const) {
      expect(await granted.parameters(sql), sql).toEqual([type]);
      expect(await writer.parameters(sql), sql).toEqual(["Utf8"]);
    }
    expect(await granted.parameters("INSERT INTO hidden.t (id) VALUES ($1)")).toEqual(["Utf8"]);
    writer.close();
  });

  it("lists tables that it may not read without their columns", async () => {
    const { key, id } = await createKey(joust.root, "none");
    await grants.grants.grant(`key:${id}`, tableObject(["ns", "t"]), ["select"]);
    await grants.grants.grant(`key:${id}`, tableObject(["t"]), ["insert"]);
    const client = connect(key);
    expect((await failure(client.sql("SELECT * FROM t"))).code).toBe(DENIED);
    expect(await listTables(client)).toEqual({
      "ns.t": ["id", "name", "category", "price", "vector"],
      "public.t": [],
    });
    client.close();
  });

  it("with the role `read` changes nothing", async () => {
    // The server closes connections that no call uses for long.
    const reader = connect((await createKey(joust.root, "read")).key);
    expect((await reader.sql("SELECT * FROM t")).numRows).toBe(5);
    for (const sql of ["DELETE FROM t", "DROP TABLE t", "CREATE SCHEMA s"]) {
      const error = await failure(reader.sql(sql));
      expect([error.code, error.message], sql).toEqual([
        DENIED,
        expect.stringMatching(/ needs (write|admin)/),
      ]);
    }
    expect(await joust.client.count("t")).toBe(5);
    reader.close();
  });

  it("loses access with its grant", async () => {
    const { key, id } = await createKey(joust.root, "none");
    const client = connect(key);
    const held = [`key:${id}`, tableObject(["t"]), ["select"]] as const;
    await grants.grants.grant(...held);
    expect((await client.sql("SELECT * FROM t")).numRows).toBe(5);
    await grants.grants.revoke(...held);
    await waitFor("the grant is revoked", async () => {
      const error = await client.sql("SELECT * FROM t").catch((caught) => caught);
      return error.code === NOT_FOUND;
    });
    client.close();
  });
});

describe("limits", () => {
  it("count calls, queries and unauthenticated calls", async () => {
    const dir = tempDir("flight-limits");
    const file = join(dir, "limits.yaml");
    writeFileSync(
      file,
      JSON.stringify({
        roles: { read: { requests_per_second: 0.01, burst: 3 }, write: { concurrent_queries: 1 } },
        unauthenticated: { requests_per_second: 0.01, burst: 2 },
      }),
    );
    const server = await startServerForTest({ args: ["--limits", file] });
    const connect = async (role: "" | "read" | "write") =>
      new FlightClient(
        `http://127.0.0.1:${sqlPort(server)}`,
        role === "" ? "" : (await createKey(server.root, role)).key,
      );
    await server.client.createTable("big", items(20_000));

    const reader = await connect("read");
    for (let n = 0; n < 3; n++) await reader.sql("SELECT 1");
    const refused = await failure(reader.sql("SELECT 1"));
    expect([refused.code, refused.message]).toEqual([
      EXHAUSTED,
      expect.stringContaining("(limit `requests_per_second`)"),
    ]);
    expect(refused.message).toContain(`after ${refused.retryAfter} s`);

    const writer = await connect("write");
    let second: Promise<FlightError> | undefined;
    let secondHasEnded = false;
    await failure(
      writer.sql("SELECT a.* FROM big a CROSS JOIN big b", {
        onMessage: () => {
          second ??= failure(writer.sql("SELECT 1")).finally(() => {
            secondHasEnded = true;
          });
          return !secondHasEnded;
        },
      }),
    );
    expect((await second)?.message).toContain("(limit `concurrent_queries`)");
    await waitFor("the query has ended", () =>
      writer.sql("SELECT 1").then(
        () => true,
        () => false,
      ),
    );

    const nobody = await connect("");
    const codes: number[] = [];
    for (let n = 0; n < 4; n++) codes.push((await failure(nobody.sql("SELECT 1"))).code);
    expect(codes).toEqual([UNAUTHENTICATED, UNAUTHENTICATED, EXHAUSTED, EXHAUSTED]);
    for (const client of [reader, writer, nobody]) client.close();
  });

  it("count unauthenticated calls by the client that repeated lines of x-forwarded-for name", async () => {
    const file = join(tempDir("flight-proxies"), "limits.yaml");
    const budget = (burst: number) => ({ requests_per_second: 0.01, burst });
    const unauthenticated = {
      ...budget(50),
      per_address: budget(1),
      trusted_proxies: ["127.0.0.0/8"],
    };
    writeFileSync(file, JSON.stringify({ unauthenticated }));
    const server = await startServerForTest({ args: ["--limits", file] });
    const anonymous = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, "");
    // Each client sends a line of its own, and the proxy appends the address.
    const from = async (sent: string, client: string) => {
      const headers = { "x-forwarded-for": [sent, client] };
      return (await failure(anonymous.sql("SELECT 1", { headers }))).code;
    };
    const codes = [
      await from("198.51.100.1", "203.0.113.1"),
      await from("198.51.100.1", "203.0.113.2"),
      await from("198.51.100.2", "203.0.113.2"),
    ];
    expect(codes).toEqual([UNAUTHENTICATED, UNAUTHENTICATED, EXHAUSTED]);
    anonymous.close();
  });

  it("of a namespace count the calls of the connections to its database", async () => {
    const dir = tempDir("flight-database-limits");
    const file = join(dir, "limits.yaml");
    // The creation of the namespace counts too.
    const limit = { requests_per_second: 0.01, burst: 3 };
    writeFileSync(file, JSON.stringify({ namespaces: { a: limit } }));
    const server = await startServerForTest({ args: ["--limits", file] });
    await server.client.createNamespace("a");
    const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
    for (const header of ["database", "x-lancedb-database"]) {
      await flight.sql("SELECT 1", { headers: { [header]: "a" } });
    }
    const refused = await failure(flight.sql("SELECT 1", { headers: { database: "a" } }));
    expect([refused.code, refused.message]).toEqual([
      EXHAUSTED,
      expect.stringContaining("(limit `requests_per_second`)"),
    ]);
    await flight.sql("SELECT 1");
    flight.close();
  });
});

describe("a deadline", () => {
  const joust = setupServer();
  let flight: FlightClient;
  beforeAll(async () => {
    await joust.client.createTable("big", items(2_000));
    flight = new FlightClient(`http://127.0.0.1:${sqlPort(joust.server)}`, joust.server.key);
  });

  it("ends a query, and says which limit", async () => {
    const headers = { "x-request-timeout-ms": "200" };
    const error = await failure(flight.sql(LONG, { headers }));
    expect(error.code).toBe(TIMED_OUT);
    expect(error.message).toContain("200 ms, the limit that `x-request-timeout-ms` sets");
  });

  it("that is malformed is refused", async () => {
    const headers = { "x-request-timeout-ms": "soon" };
    expect((await failure(flight.sql("SELECT 1", { headers }))).code).toBe(INVALID);
  });

  it("before the first change changes nothing", async () => {
    const headers = { "x-request-timeout-ms": "1" };
    const untouched: string[] = [];
    // On a fast machine most of the calls can end in time.
    for (let n = 0; n < 20 || untouched.length === 0; n++) {
      expect(n, "no call ended early").toBeLessThan(500);
      // A delete of which the outcome is unknown still runs, and would find the rows of a replaced table.
      const table = `once_${n}`;
      await joust.client.createTable(table, items(3));
      const error: FlightError | undefined = await flight
        .sql(`DELETE FROM ${table}`, { headers })
        .then(
          () => undefined,
          (error) => error,
        );
      if (error === undefined) {
        expect(await joust.client.count(table)).toBe(0);
        continue;
      }
      expect(error.code).toBe(TIMED_OUT);
      if (!error.message.includes("its outcome is unknown")) untouched.push(table);
    }
    // Longer than a delete that continues would take.
    await sleep(1_000);
    for (const table of untouched) expect(await joust.client.count(table)).toBe(3);
  });
});

it("the audit log has a second line for a change that ends after its call", {
  timeout: 120_000,
}, async () => {
  const path = join(tempDir("flight-late"), "audit.log");
  const server = await startServerForTest({ args: ["--audit-log", path] });
  const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
  await server.client.createTable("t", items(20_000, { dimension: 2 }));
  const headers = { "x-request-id": "late-1", "x-request-timeout-ms": "300" };
  const update = `UPDATE t SET name = ${slowText("name")}`;
  const error = await failure(flight.sql(update, { headers }));
  expect(error.message).toContain("its outcome is unknown");
  const twoLines = () => {
    const all = readFileSync(path, "utf8").split("\n").filter(Boolean);
    const ofCall = all.map((text) => JSON.parse(text)).filter((one) => one.request_id === "late-1");
    return ofCall.length === 2 && ofCall;
  };
  // An unoptimised engine on a busy machine needs long for the update.
  const lines = await waitFor("two lines", twoLines, { timeoutMs: 90_000 });
  const parts = [{ operation: "UpdateTable", object: "t" }];
  expect(lines).toEqual([
    expect.objectContaining({ status: 504, error: 17, parts }),
    expect.objectContaining({ status: 200, after_end: true, parts }),
  ]);
  expect(lines[0]).not.toHaveProperty("after_end");
  flight.close();
});

it("the audit log has no error for a call that succeeds although a statement of it fails", async () => {
  const path = join(tempDir("flight-listed"), "audit.log");
  const server = await startServerForTest({ args: ["--audit-log", path] });
  const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
  await server.client.ok("/v1/table/declared/declare", {});
  const headers = { "x-request-id": "listed-1" };
  expect(await listTables(flight, { headers })).toEqual({ "public.declared": [] });
  const line: Json = await waitFor("the line of the call", () => {
    const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
    const all = lines.map((text) => JSON.parse(text));
    return all.find(({ request_id }) => request_id === "listed-1");
  });
  expect(line).toMatchObject({ operation: "ExecuteSql", status: 200 });
  expect(line).not.toHaveProperty("error");
  flight.close();
});

it("the audit log has a line for each call", async () => {
  const path = join(tempDir("flight-audit"), "audit.log");
  const server = await startServerForTest({ args: ["--audit-log", path] });
  const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
  await server.client.createTable("t", items(3));
  await flight.sql("SELECT * FROM t", { headers: { "x-request-id": "read-1" } });
  await flight.sql("DELETE FROM t WHERE id = 1", { headers: { "x-request-id": "change-1" } });
  await failure(flight.sql("SELECT * FROM missing", { headers: { "x-request-id": "missing-1" } }));
  const nobody = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, "");
  await failure(nobody.sql("SELECT 1", { headers: { "x-request-id": "nobody-1" } }));
  const line = (id: string): Promise<Json> =>
    waitFor(`the line of ${id}`, () => {
      const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
      return lines.map((text) => JSON.parse(text)).find(({ request_id }) => request_id === id);
    });
  const identity = { id: "--api-key", name: "--api-key" };
  const common = { remote: "127.0.0.1", identity, operation: "ExecuteSql", query: "sql" };
  expect(await line("read-1")).toMatchObject({
    ...common,
    parts: [{ operation: "ExecuteSql", object: "t" }],
    status: 200,
    reply_bytes: expect.any(Number),
  });
  expect(await line("change-1")).toMatchObject({
    ...common,
    parts: [{ operation: "DeleteFromTable", object: "t" }],
    status: 200,
    transaction: expect.stringMatching(/./),
  });
  expect(await line("missing-1")).toMatchObject({ ...common, status: 404, error: 4 });
  expect(await line("nobody-1")).toMatchObject({
    identity: null,
    operation: "Flight.DoGet",
    status: 401,
    error: 16,
  });
  for (const client of [flight, nobody]) client.close();
});
