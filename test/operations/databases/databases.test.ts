/** Requests with the header `x-lancedb-database`: each class of route in a database that is a namespace. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForJob } from "../../harness/jobs.js";
import { setupServer, startServerForTest } from "../../harness/setup-server.js";
import { exchangeRaw, head } from "../../harness/socket.js";
import { tempDir } from "../../harness/temp.js";
import { waitFor } from "../../harness/wait-for.js";

const audit = join(tempDir("audit"), "audit.log");
const joust = setupServer({ args: ["--audit-log", audit] });
let a: Client;
let b: Client;

/** As SQL of one row and one column in JSON. */
async function sqlValue(client: Client, query: string): Promise<unknown> {
  const headers = { accept: "application/json" };
  const { status, text, json } = await client.request("/v1/sql", { body: { query }, headers });
  if (status !== 200) throw new Error(text);
  return Object.values(json.rows[0])[0];
}

beforeAll(async () => {
  a = joust.client.inDatabase("a");
  b = joust.client.inDatabase("b");
  await joust.client.createNamespace("a", { mode: "Create" });
  await joust.client.createNamespace("b", { mode: "Create" });
  await joust.client.createTable("t", items(3));
  await a.createTable("t", items(5));
  await b.createTable("t", items(7));
});

describe("a request with the header x-lancedb-database", () => {
  it("reads and writes the table of that name in the database", async () => {
    expect([await joust.client.count("t"), await a.count("t"), await b.count("t")]).toEqual([
      3, 5, 7,
    ]);
    expect(await joust.client.count("a$t")).toBe(5);
    await a.createTable("w", items(1));
    await a.insert("w", items(2, { from: 1 }));
    await a.ok("/v1/table/w/delete/", { predicate: "id = 0" });
    expect(await joust.client.count("a$w")).toBe(2);
    const rows = await a.query("w", { columns: ["id"], vector: [], k: 9 });
    expect(rows.numRows).toBe(2);
    expectFailure(await joust.client.post("/v1/table/w/describe"), 404, 4);
    await a.ok("/v1/table/w/drop");
    expectFailure(await joust.client.post("/v1/table/a$w/describe"), 404, 4);
  });

  it("gets names that are relative to the database", async () => {
    await a.createNamespace("inner");
    await a.createTable("inner$x", items(1));
    expect(await a.ok("/v1/table/inner$x/describe")).toMatchObject({
      table: "x",
      namespace: ["inner"],
    });
    expect(await a.ok("/v1/table/t/describe", { id: ["t"] })).toMatchObject({ namespace: [] });
    const cached = await a.ok("/v1/table/t/describe");
    expect(cached).toMatchObject({ namespace: [] });
    expect(await a.ok("/v1/table/inner$x/drop")).toMatchObject({ id: ["inner", "x"] });
    await a.createTable("gone", items(1));
    expect(await a.ok("/v1/table/gone/deregister")).toMatchObject({ id: ["gone"] });
    expect(await joust.client.ok("/v1/table/a$t/describe")).toMatchObject({ namespace: ["a"] });
    await a.ok("/v1/namespace/inner/drop");
  });

  it("lists only the content of the database", async () => {
    await a.createNamespace("inner");
    await a.createTable("inner$y", items(1));
    const lists = async (client: Client) => [
      (await client.get("/v1/table/")).json.tables,
      (await client.get("/v1/table")).json.tables,
      (await client.get("/v1/namespace/$/table/list")).json.tables,
      (await client.get("/v1/namespace/$/list")).json.namespaces,
    ];
    expect(await lists(a)).toEqual([["t"], ["t", "inner$y"], ["t"], ["inner"]]);
    expect(await lists(b)).toEqual([["t"], ["t"], ["t"], []]);
    expect(await lists(joust.client)).toEqual([
      ["t"],
      ["t", "a$t", "a$inner$y", "b$t"],
      ["t"],
      ["a", "b"],
    ]);
    await a.ok("/v1/namespace/inner/drop", { behavior: "Cascade" });
  });

  it("pages through the tables of the database", async () => {
    for (const name of ["p1", "p2", "p3"]) await b.createTable(name, items(1));
    const names: string[] = [];
    let page_token: string | undefined;
    do {
      const { json } = await b.get("/v1/table/", {
        limit: "1",
        ...(page_token && { page_token }),
      });
      names.push(...json.tables);
      page_token = json.page_token;
    } while (page_token);
    expect(names).toEqual(["p1", "p2", "p3", "t"]);
    for (const name of ["p1", "p2", "p3"]) await b.ok(`/v1/table/${name}/drop`);
  });

  it("renames within the database", async () => {
    await a.createNamespace("inner");
    await a.createTable("r", items(1));
    await a.ok("/v1/table/r/rename", { new_table_name: "s" });
    await a.ok("/v1/table/s/rename", { new_table_name: "s", new_namespace_id: ["inner"] });
    expect(await joust.client.count("a$inner$s")).toBe(1);
    await a.ok("/v1/table/inner$s/rename/", { new_table_name: "s2", new_namespace: [] });
    expect(await joust.client.count("a$s2")).toBe(1);
    await a.ok("/v1/table/s2/drop");
    await a.ok("/v1/namespace/inner/drop");
  });

  it("names the tables of a batch in the database", async () => {
    const { results } = await a.ok("/v1/table/batch-commit", {
      operations: [{ declare_table: { id: ["batch"] } }],
    });
    expect(results).toHaveLength(1);
    await joust.client.ok("/v1/table/a$batch/exists");
    expectFailure(await joust.client.post("/v1/table/batch/exists"), 404, 4);
    const reply = await a.ok("/v1/table/batch-commit", {
      operations: [{ deregister_table: { id: ["batch"] } }],
    });
    expect(reply.results[0].deregister_table.id).toEqual(["batch"]);
    const entries = [{ id: ["none"], version: 2, manifest_path: "x" }];
    expectFailure(await a.post("/v1/table/version/batch-create", { entries }), 404, 4, /a\$none/);
  });

  it("runs SQL over the database", async () => {
    expect(await sqlValue(a, "SELECT count(*) FROM t")).toBe(5);
    expect(await sqlValue(b, "SELECT count(*) FROM public.t")).toBe(7);
    const tables = "SELECT count(*) FROM information_schema.tables WHERE table_name = 't'";
    expect(await sqlValue(a, tables)).toBe(1);
    expect(await sqlValue(joust.client, tables)).toBe(3);
    const query = "SELECT * FROM b.t";
    expectFailure(await a.post("/v1/sql", { query }), 404, 1, /a\$b/);
    await a.ok("/v1/sql", { query: "CREATE TABLE made AS SELECT id FROM t" });
    await a.ok("/v1/sql", { query: "INSERT INTO made SELECT id FROM t" });
    expect(await joust.client.count("a$made")).toBe(10);
    await a.ok("/v1/sql", { query: "CREATE SCHEMA sub" });
    await a.ok("/v1/sql", { query: "ALTER TABLE made RENAME TO sub.made" });
    expect(await joust.client.count("a$sub$made")).toBe(10);
    await a.ok("/v1/sql", { query: "DROP TABLE sub.made" });
    await a.ok("/v1/sql", { query: "DROP SCHEMA sub" });
    expectFailure(await joust.client.post("/v1/table/made/exists"), 404, 4);
  });

  it("creates views of the tables of the database", async () => {
    const { job_id } = await a.ok("/v1/materialized_view/v/create", { query: "SELECT id FROM t" });
    await waitForJob(joust.client, job_id);
    expect(await joust.client.count("a$v")).toBe(5);
    expect(await a.ok("/v1/materialized_view/v/describe")).toMatchObject({
      source_table: "t",
      source_namespace: [],
      tables: [["t"]],
    });
    const views = await a.ok("/v1/namespace/$/materialized_view/list");
    expect(views.views).toEqual(["v"]);
    const replace = "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT id FROM t WHERE id < 2";
    await a.ok("/v1/sql", { query: replace });
    expect(await joust.client.count("a$v")).toBe(2);
    expect(await sqlValue(a, "SHOW MATERIALIZED VIEWS IN public")).toBe("v");
    await a.ok("/v1/materialized_view/v/refresh");
    await a.ok("/v1/materialized_view/v/drop");
  });

  it("clones only tables of the database", async () => {
    const own = await a.ok("/v1/table/t/describe");
    await a.ok("/v1/table/copy/clone", { source_location: own.location });
    expect(await joust.client.count("a$copy")).toBe(5);
    await a.ok("/v1/table/copy/drop");
    const { location } = await joust.client.ok("/v1/table/t/describe");
    const reply = await a.post("/v1/table/copy/clone", { source_location: location });
    expect(reply.status).toBe(404);
    expect(reply.json.detail).toContain('is not in the database "a"');
  });

  it("shows jobs and transactions of the database only", async () => {
    const index = { column: "id", index_type: "BTREE" };
    const own = (await a.ok("/v1/table/t/create_scalar_index", index)).transaction_id;
    const other = (await joust.client.ok("/v1/table/t/create_scalar_index", index)).transaction_id;
    await waitForJob(joust.client, own);
    await waitForJob(joust.client, other);
    const { jobs } = await a.ok("/v1/jobs/list", {});
    expect(jobs.map(({ job_id }: { job_id: string }) => job_id)).toContain(own);
    expect(new Set(jobs.map(({ table }: { table: string }) => table))).toEqual(
      new Set(["t", ...jobs.flatMap(({ table }: { table: string }) => (table ? [table] : []))]),
    );
    expect(jobs.map(({ job_id }: { job_id: string }) => job_id)).not.toContain(other);
    await a.ok("/v1/jobs/describe", { job_id: own });
    for (const path of ["describe", "cancel", "pause", "resume"]) {
      expectFailure(await a.post(`/v1/jobs/${path}`, { job_id: other }), 404, 10);
    }
    const described = await a.ok(`/v1/transaction/${own}/describe`);
    expect(described.properties.object).toBe("t");
    expectFailure(await a.post(`/v1/transaction/${other}/describe`), 404, 10);
  });

  it("cannot drop or replace the database itself", async () => {
    expectFailure(await a.post("/v1/namespace/$/drop", { behavior: "Cascade" }), 400, 13);
    expectFailure(await a.post("/v1/namespace/$/create", { mode: "Overwrite" }), 400, 13);
    expectFailure(await a.post("/v1/namespace/$/create"), 409, 2);
    expectFailure(await a.post("/v1/table/$/drop"), 400, 13);
    expect(await a.count("t")).toBe(5);
  });

  it("is another request than the same one without the header", async () => {
    const headers = { "idempotency-key": "one-key" };
    const send = (client: Client) =>
      client.request("/v1/table/t/insert", { body: items(1, { from: 50 }), headers });
    expect((await send(b)).status).toBe(200);
    expect((await send(b)).headers.get("idempotent-replayed")).toBe("true");
    expect((await send(joust.client)).status).toBe(422);
    expect(await joust.client.count("t")).toBe(3);
    expect(await b.count("t")).toBe(8);
    await b.ok("/v1/table/t/delete", { predicate: "id = 50" });
  });

  it("is in the audit log with the complete identifier", async () => {
    await a.request("/v1/table/t/describe", { headers: { "x-request-id": "scoped" } });
    const line = await waitFor("the line", () =>
      readFileSync(audit, "utf8")
        .split("\n")
        .find((text) => text.includes('"scoped"')),
    );
    expect(JSON.parse(line)).toMatchObject({ object: "a$t" });
  });

  it("counts for the limits of the database", async () => {
    const file = join(tempDir("limits"), "limits.yaml");
    writeFileSync(file, JSON.stringify({ namespaces: { full: { rows: 2 } } }));
    const { client } = await startServerForTest({ args: ["--limits", file] });
    await client.createNamespace("full");
    const database = client.inDatabase("full");
    await database.createTable("t", items(2));
    await client.createTable("t", items(2));
    expect((await database.post("/v1/table/t/insert/", items(1))).status).toBe(429);
    const query = "INSERT INTO t SELECT * FROM t";
    expect((await database.post("/v1/sql", { query })).status).toBe(429);
    await client.insert("t", items(1));
  });

  it("names one database", async () => {
    const { url, key } = joust.server;
    const credential = `x-api-key: ${key}`;
    const databases = ["x-lancedb-database: a", "x-lancedb-database: b"];
    const request = head("GET /v1/table/ HTTP/1.1", "Host: x", credential, ...databases);
    const { text: reply } = await exchangeRaw(url, [request]);
    expect(reply).toMatch(/^HTTP\/1.1 400 /);
    expect(reply).toContain("`x-lancedb-database` occurs more than once");
  });
});
