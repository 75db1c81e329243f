import { readdirSync } from "node:fs";
import { Float32, Int32, Int64, Schema, Table, tableToIPC, Utf8 } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForJobResult } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { schema, viewClient } from "./view-client.js";

const joust = setupServer();
const { byQuery, column, create, refresh, refreshed, rows, vectorOf, view } = viewClient(joust);

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  await joust.client.createTable("t", items(100));
  await joust.client.createTable("ns$Items", items(50));
});

describe("a materialized view", () => {
  it("is created empty, as the interface specifies, and filled by a refresh", async () => {
    const answer = await create("plain", {
      kind: "query",
      source_query: "SELECT id, name FROM t WHERE id < 10 ORDER BY id",
      output_schema: schema({ id: new Int64(), name: new Utf8() }),
      udtf_spec: null,
    });
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual({ version: 1 });
    expect(await joust.client.count("plain")).toBe(0);
    const { schema: described } = await joust.client.ok("/v1/table/plain/describe");
    expect(described.fields.map((field: Json) => [field.name, field.type.type])).toEqual([
      ["id", "int64"],
      ["name", "utf8"],
    ]);
    expect(JSON.parse(described.metadata["mv.definition"])).toEqual({
      format: 1,
      kind: "query",
      query: "SELECT id, name FROM t WHERE id < 10 ORDER BY id",
    });
    expect(await refreshed("plain")).toMatchObject({
      mode: "rebuild",
      reason: "the query has ORDER BY",
      rows_written: 10,
      rows_removed: 0,
      rows_assigned: 10,
      rows_failed: 0,
      rows_remaining: 0,
      source_version: 1,
      published_version: 2,
      version: 2,
      sources: [{ table: ["t"], version: 1 }],
    });
    expect(await column("plain", "id")).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await column("plain", "name")).toEqual(
      Array.from({ length: 10 }, (_, id) => `item ${id}`),
    );
  });

  it("is filled at its creation on request", async () => {
    const answer = await create("filled", {
      kind: "query",
      source_query: JSON.stringify({ format: 1, kind: "query", query: "SELECT id FROM t" }),
      output_schema: schema({ id: new Int64() }),
      with_no_data: false,
      auto_refresh: false,
    });
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual({ version: 1, job_id: expect.any(String) });
    await waitForJobResult(joust.client, answer.json.job_id);
    expect(await joust.client.count("filled")).toBe(100);
    const { status, properties } = await joust.client.ok(
      `/v1/transaction/${answer.json.job_id}/describe`,
    );
    expect(status).toBe("Succeeded");
    expect(properties).toMatchObject({ operation: "CreateMaterializedView", object: "filled" });
  });

  it("is filled at its creation by default in the SDKs' form", async () => {
    const answer = await byQuery("sdk", "SELECT id FROM t");
    expect(answer.status).toBe(202);
    await waitForJobResult(joust.client, answer.json.job_id);
    expect(await joust.client.count("sdk")).toBe(100);
    const empty = await create("sdk_empty", { query: "SELECT id FROM t", with_no_data: true });
    expect([empty.status, empty.json]).toEqual([201, { version: 1 }]);
    expect(await joust.client.count("sdk_empty")).toBe(0);
  });

  it("follows its source tables only when it is refreshed", async () => {
    await joust.client.createTable("source", items(10));
    await view("mirror", "SELECT id, price FROM source");
    await joust.client.insert("source", items(5, { from: 10 }));
    await joust.client.ok("/v1/table/source/delete", { predicate: "id < 3" });
    await joust.client.ok("/v1/table/source/update", {
      predicate: "id = 5",
      updates: [["price", "1000"]],
    });
    expect(await joust.client.count("mirror")).toBe(10);
    const versions = (await joust.client.ok("/v1/table/mirror/version/list")).versions.length;
    expect(await refreshed("mirror")).toMatchObject({
      mode: "incremental",
      rows_written: 6,
      rows_removed: 4,
      source_version: 4,
    });
    const ids = (await column("mirror", "id")) as number[];
    expect(ids.sort((a, b) => a - b)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    expect(await joust.client.count("mirror", { predicate: "price = 1000" })).toBe(1);
    // A refresh creates one version.
    const after = (await joust.client.ok("/v1/table/mirror/version/list")).versions.length;
    expect(after).toBe(versions + 1);
    await joust.client.ok("/v1/table/source/delete", { predicate: "true" });
    expect(await refreshed("mirror")).toMatchObject({ rows_written: 0 });
    expect(await joust.client.count("mirror")).toBe(0);
    await joust.client.insert("source", items(2));
    await refreshed("mirror");
    expect(await joust.client.count("mirror")).toBe(2);
  });

  it("is refreshed from the requested version on either path", async () => {
    await joust.client.createTable("history", items(10));
    await joust.client.insert("history", items(10, { from: 10 }));
    await view("then", "SELECT id FROM history");
    expect(await joust.client.count("then")).toBe(20);
    for (const older of [{ src_version: 1 }, { source_version: 1, full: true }]) {
      expect(await refreshed("then", older)).toMatchObject({ rows_written: 10, source_version: 1 });
    }
    const answer = await joust.client.post("/v1/table/then/refresh", {
      src_version: null,
      max_rows_per_fragment: null,
      concurrency: null,
      intra_applier_concurrency: 1,
      cluster: "c",
      manifest: "m",
    });
    expect(answer.status).toBe(202);
    expect(await waitForJobResult(joust.client, answer.json.job_id)).toMatchObject({
      mode: "incremental",
      rows_written: 10,
    });
    expect(await joust.client.count("then")).toBe(20);
  });

  it("has the requested fragment size after a refresh", async () => {
    await view("sized", "SELECT id FROM t");
    await refreshed("sized", { full: true, max_rows_per_fragment: 30, concurrency: 1 });
    const { fragment_stats } = await joust.client.ok("/v1/table/sized/stats");
    expect(fragment_stats.num_fragments).toBe(4);
    expect(fragment_stats.lengths).toMatchObject({ max: 30, min: 10 });
  });

  it("groups, joins, nests and computes", async () => {
    await joust.client.createTable(
      "prices",
      stream({ category: [type.text, ["c0", "c1"]], factor: [type.f64, [10, 100]] }),
    );
    await view(
      "grouped",
      "SELECT category, count(*) AS n, max(price) AS top FROM t GROUP BY category ORDER BY category",
    );
    expect(await column("grouped", "category")).toEqual(["c0", "c1", "c2", "c3", "c4"]);
    expect(await column("grouped", "n")).toEqual([20, 20, 20, 20, 20]);
    expect(await column("grouped", "top")).toEqual([47.5, 48, 48.5, 49, 49.5]);
    await view(
      "joined",
      "SELECT t.id, t.price * p.factor AS cost FROM t JOIN prices p ON t.category = p.category WHERE t.id < 10 ORDER BY t.id",
    );
    expect(await column("joined", "id")).toEqual([0, 1, 5, 6]);
    expect(await column("joined", "cost")).toEqual([0, 50, 25, 300]);
    await view(
      "nested",
      "WITH big AS (SELECT id FROM t WHERE price > 40) SELECT upper(name) AS name FROM t WHERE id IN (SELECT id FROM big) AND id > 97 UNION ALL SELECT 'none' ORDER BY name",
    );
    expect(await column("nested", "name")).toEqual(["ITEM 98", "ITEM 99", "none"]);
    await view("constant", "SELECT 1 AS one, 'x' AS text");
    expect(await column("constant", "one")).toEqual([1]);
  });

  it("evaluates every level of a query separately, even if they read the same table", async () => {
    await view(
      "levels",
      "SELECT a + a AS a FROM (SELECT a + a AS a FROM (SELECT id AS a FROM t WHERE id < 3)) ORDER BY a",
    );
    expect(await column("levels", "a")).toEqual([0, 4, 8]);
  });

  it("resolves table names from its namespace, from the root and in quoted form", async () => {
    await joust.client.createTable("ns$local", items(3));
    await view("ns$near", 'SELECT l.id FROM local l JOIN "Items" i ON l.id = i.id');
    expect(await joust.client.count("ns$near")).toBe(3);
    await view("far", "SELECT id FROM ns.Items");
    await view("quoted", 'SELECT id FROM "ns$Items"');
    expect(await joust.client.count("far")).toBe(50);
    expect(await joust.client.count("quoted")).toBe(50);
    expectFailure(await byQuery("wrong", "SELECT id FROM ns.items"), 404, 4, /items/);
    expectFailure(await byQuery("ns$wrong", "SELECT id FROM t"), 404, 4, /t/);
    expectFailure(await byQuery("wrong", "SELECT id FROM nowhere.items"), 404, 1, /nowhere/);
  });

  it("can read another view and can be searched by vector", async () => {
    await view("half", "SELECT * FROM t WHERE id % 2 = 0");
    await view("quarter", "SELECT * FROM half WHERE id % 4 = 0");
    expect(await joust.client.count("quarter")).toBe(25);
    const result = await rows("quarter", {
      k: 1,
      vector: { single_vector: await vectorOf("t", 8) },
    });
    expect(Number(result.get(0)?.id)).toBe(8);
  });

  it("keeps its indexes, tags and name over refreshes", async () => {
    await joust.client.createTable("feed", items(300));
    await view("indexed", "SELECT id, name, vector FROM feed");
    for (const index of [
      { column: "id", index_type: "BTREE" },
      { column: "name", index_type: "INVERTED" },
      { column: "vector", index_type: "IVF_FLAT", distance_type: "l2" },
    ]) {
      const reply = await joust.client.ok("/v1/table/indexed/create_index", index);
      await waitForJobResult(joust.client, reply.transaction_id);
    }
    await joust.client.insert("feed", items(20, { from: 300 }));
    await refreshed("indexed");
    const { indexes } = await joust.client.ok("/v1/table/indexed/index/list", {});
    expect(indexes.map((index: Json) => index.index_name).sort()).toEqual([
      "id_idx",
      "name_idx",
      "vector_idx",
    ]);
    expect(await joust.client.count("indexed", { predicate: "id = 310" })).toBe(1);
    const text = await rows("indexed", {
      k: 5,
      full_text_query: { string_query: { query: "315" } },
    });
    expect(text.toArray().map((row) => Number(row.id))).toEqual([315]);
    const near = await rows("indexed", {
      k: 1,
      vector: { single_vector: await vectorOf("feed", 317) },
    });
    expect(Number(near.get(0)?.id)).toBe(317);
    await joust.client.ok("/v1/table/indexed/rename", { new_table_name: "renamed" });
    await refreshed("renamed");
    expect(await joust.client.count("renamed")).toBe(320);
  });

  it("has the types of its declared schema", async () => {
    const answer = await create("typed", {
      kind: "query",
      source_query: "SELECT id, price FROM t",
      output_schema: schema({ id: new Int32(), price: new Float32() }),
      with_no_data: false,
    });
    await waitForJobResult(joust.client, answer.json.job_id);
    const { fields } = (await joust.client.ok("/v1/table/typed/describe")).schema;
    expect(fields.map((field: Json) => field.type.type)).toEqual(["int32", "float32"]);
    expect((await column("typed", "id")).length).toBe(100);
  });

  it("does not inherit the column metadata of its source table", async () => {
    await joust.client.createTable("meta", items(5));
    await joust.client.ok("/v1/table/meta/add_columns", {
      new_columns: [{ name: "c", computed: "id + 1" }],
    });
    await view("bare", "SELECT * FROM meta");
    const { fields } = (await joust.client.ok("/v1/table/bare/describe")).schema;
    expect(fields.find((field: Json) => field.name === "c").metadata ?? {}).toEqual({});
    expectFailure(
      await joust.client.post("/v1/table/bare/backfill_column", { column: "c" }),
      400,
      13,
      /is not a computed column/,
    );
  });

  it("does not make a view of a table that receives its rows and metadata", async () => {
    await view("origin", "SELECT id, name FROM t WHERE id < 5");
    const read = await rows("origin");
    const { metadata } = (await joust.client.ok("/v1/table/origin/describe")).schema;
    const kept = new Map([...Object.entries<string>(metadata), ["mine", "stays"]]);
    const body = tableToIPC(
      new Table(new Schema(read.schema.fields, kept), read.batches),
      "stream",
    );
    await joust.client.createTable("copy", body);
    await joust.client.insert("copy", body);
    expect(await joust.client.count("copy")).toBe(10);
    const copied = (await joust.client.ok("/v1/table/copy/describe")).schema.metadata;
    expect(copied).toMatchObject({ mine: "stays" });
    expect(Object.keys(copied)).not.toContain("mv.definition");
    expect(Object.keys(copied)).not.toContain("joust.view.tables");
    expectFailure(await refresh("copy"), 409, 19, /not a materialized view/);
  });

  it("is dropped like a table, and its name becomes free", async () => {
    await view("gone", "SELECT id FROM t");
    await joust.client.ok("/v1/table/gone/drop", {});
    expectFailure(await refresh("gone"), 404, 4);
    expect(readdirSync(joust.root)).not.toContain("gone.lance");
    await view("gone", "SELECT name FROM t");
    expect(await joust.client.count("t")).toBe(100);
  });

  it("stores its source tables in its own metadata", async () => {
    await view("kept", "SELECT id FROM t");
    const { metadata } = (await joust.client.ok("/v1/table/kept/describe")).schema;
    expect(JSON.parse(metadata["joust.view.tables"])).toEqual([{ name: ["t"], table: ["t"] }]);
  });
});
