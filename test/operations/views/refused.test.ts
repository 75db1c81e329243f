import { Int64 } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { schema, viewClient } from "./view-client.js";

const joust = setupServer();
const { byQuery, create } = viewClient(joust);

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  await joust.client.createTable("t", items(100));
  await joust.client.createTable("ns$Items", items(50));
});

/** A query that repeats its column eight times per level. */
const nested = (item: string): string =>
  Array(8)
    .fill(item)
    .reduce((inner, each) => `SELECT ${each} AS c FROM (${inner})`, "SELECT name AS c FROM t");

const python = { source: "def f(id): return []", entry: "f" };
const udtf = Buffer.from("{}").toString("base64");

describe("an invalid view with a function", () => {
  const spec = {
    python,
    input_columns: ["id"],
    outputs: [{ column: "word", data_type: "utf8" }],
  };
  const valid = { kind: "chunker", source_query: "SELECT id FROM t", udtf_spec: spec };
  const withSpec = (members: object): object => ({
    ...valid,
    udtf_spec: { ...spec, ...members },
  });
  const pickled = { python: undefined, udtf_name: "f", udtf, udtf_sha: "0".repeat(64) };

  it.each<[string, object, number, number, RegExp]>([
    ["without udtf_spec", { ...valid, udtf_spec: undefined }, 400, 13, /needs udtf_spec/],
    ["with a spec of another kind", withSpec({ kind: "udtf" }), 400, 13, /kind is chunker/],
    ["with a batched function", withSpec({ batch: true }), 406, 0, /batch/],
    ["with partitions", withSpec({ partition_by: "id" }), 400, 13, /partition_by/],
    ["without inputs", withSpec({ input_columns: null }), 400, 13, /input_columns/],
    ["without a function", withSpec({ python: undefined }), 400, 13, /python, or udtf/],
    ["with two functions", withSpec({ udtf, udtf_name: "f" }), 400, 13, /together with udtf/],
    ["with another checksum", withSpec(pickled), 400, 13, /udtf_sha is not/],
    ["with broken base64", withSpec({ ...pickled, udtf: "%" }), 400, 13, /base64/],
    [
      "with a manifest of another checksum",
      withSpec({ manifest: "{}", manifest_checksum: "0" }),
      400,
      13,
      /manifest/,
    ],
    ["without columns", withSpec({ outputs: undefined }), 400, 13, /output_schema, or outputs/],
    [
      "with two definitions of its columns",
      { ...valid, output_schema: schema({ id: new Int64() }) },
      400,
      13,
      /output_schema cannot be set together/,
    ],
    [
      "with a schema of columns of the query only",
      {
        ...withSpec({ outputs: undefined }),
        output_schema: schema({ id: new Int64() }),
      },
      400,
      13,
      /gives no columns/,
    ],
    [
      "in the form of the SDKs",
      { query: "SELECT id FROM t", udtf_spec: spec },
      400,
      13,
      /udtf_spec/,
    ],
  ])("is rejected %s", async (_, body, status, code, detail) => {
    expectFailure(await create("refused", body), status, code, detail);
    expectFailure(await joust.client.post("/v1/table/refused/describe"), 404, 4);
  });
});

describe("an invalid view", () => {
  const valid = {
    kind: "query",
    source_query: "SELECT id FROM t",
    output_schema: schema({ id: new Int64() }),
  };

  it.each<[string, object, number, number, RegExp]>([
    ["without a kind", { ...valid, kind: undefined }, 400, 13, /kind/],
    ["of an unknown kind", { ...valid, kind: "table" }, 400, 13, /kind/],
    ["of kind udtf", { ...valid, kind: "udtf" }, 406, 0, /use kind chunker/],
    ["with a function", { ...valid, udtf_spec: { kind: "chunker" } }, 400, 13, /udtf_spec/],
    ["without a query", { ...valid, source_query: undefined }, 400, 13, /source_query/],
    ["with an empty query", { ...valid, source_query: " " }, 400, 13, /source_query/],
    ["with a query that is not a string", { ...valid, source_query: 1 }, 400, 13, /source_query/],
    ["with broken JSON", { ...valid, source_query: "{" }, 400, 13, /JSON/],
    ["with JSON of another type", { ...valid, source_query: '{"kind":"Dedup"}' }, 400, 13, /kind/],
    ["with JSON without a query", { ...valid, source_query: '{"table":"t"}' }, 400, 13, /SELECT/],
    ["without a schema", { ...valid, output_schema: undefined }, 400, 13, /output_schema/],
    ["with a schema that is not base64", { ...valid, output_schema: "%%" }, 400, 13, /base64/],
    ["with a schema that is not Arrow", { ...valid, output_schema: "aGVsbG8=" }, 400, 13, /Arrow/],
    [
      "with the schema of another query",
      { ...valid, output_schema: schema({ id: new Int64(), x: new Int64() }) },
      400,
      20,
      /columns id, x/,
    ],
    [
      "with an interval and no auto_refresh",
      { ...valid, auto_refresh_interval_seconds: 5 },
      400,
      13,
      /needs auto_refresh/,
    ],
    [
      "with an interval of 0",
      { ...valid, auto_refresh: true, auto_refresh_interval_seconds: 0 },
      400,
      13,
      /auto_refresh_interval_seconds/,
    ],
    ["with with_no_data as a string", { ...valid, with_no_data: "yes" }, 400, 13, /with_no_data/],
    ["in both forms", { ...valid, query: "SELECT 1 AS one" }, 400, 13, /query/],
    ["in no form", {}, 400, 13, /kind/],
  ])("is rejected %s", async (_, body, status, code, detail) => {
    expectFailure(await create("refused", body), status, code, detail);
    expectFailure(await joust.client.post("/v1/table/refused/describe"), 404, 4);
  });

  it.each<[string, number, number, RegExp]>([
    ["INSERT INTO t VALUES (1)", 400, 13, /SELECT/],
    ["DELETE FROM t", 400, 13, /SELECT/],
    ["DROP TABLE t", 400, 13, /SELECT/],
    ["CREATE TABLE u AS SELECT * FROM t", 400, 13, /SELECT/],
    ["CREATE EXTERNAL TABLE p STORED AS CSV LOCATION '/etc/passwd'", 400, 13, /SELECT/],
    ["COPY t TO '/tmp/stolen.csv'", 400, 13, /SELECT/],
    ["SET datafusion.execution.batch_size = 1", 400, 13, /SELECT/],
    ["EXPLAIN SELECT id FROM t", 400, 13, /SELECT/],
    ["SELECT id FROM t; DROP TABLE t", 400, 13, /./],
    ["SELECT id INTO u FROM t", 400, 13, /./],
    ["SELECT id FROM '/etc/passwd'", 404, 4, /./],
    ["SELECT * FROM information_schema.tables", 404, 1, /./],
    ["SELECT * FROM generate_series(1, 1000000000000)", 400, 13, /generate_series/],
    ["SELECT repeat(name, 1000000000) AS x FROM t", 400, 13, /repeat/],
    [
      "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
      400,
      13,
      /./,
    ],
    ["SELECT id FROM t -- all", 400, 13, /comment/],
    ["SELECT id FROM t WHERE id = $1", 400, 13, /placeholder/],
    ["SELECT nope FROM t", 404, 12, /nope/],
    ["SELECT id, id FROM t", 400, 13, /./],
    ["SELECT t.id, i.id FROM t JOIN ns.Items i ON t.id = i.id", 400, 13, /AS/],
    ["SELECT max(t.id) FROM t", 400, 13, /AS/],
    ["SELECT NULL AS x FROM t", 400, 13, /CAST/],
    ["SELECT id AS _rowid FROM t", 400, 13, /AS/],
    ["SELECT unknown_function(id) AS x FROM t", 400, 13, /unknown_function/],
    ["SELECT id FROM", 400, 13, /can't be read as a SELECT: Expected/],
    [`SELECT ${"id+".repeat(3_000)}id AS x FROM t`, 400, 13, /operators/],
    [`SELECT ${"(".repeat(5_000)}id${")".repeat(5_000)} AS x FROM t`, 400, 13, /nested too deeply/],
    [`SELECT id FROM t${", t".repeat(200)}`, 400, 13, /tables/],
    [Array(200).fill("SELECT id FROM t").join(" UNION ALL "), 400, 13, /SELECTs/],
    [Array(2_000).fill("VALUES (1)").join(" INTERSECT "), 400, 13, /VALUES/],
    [Array(2_000).fill("TABLE t").join(" INTERSECT "), 400, 13, /INTERSECTs/],
    [
      `SELECT 1 AS one FROM ${Array.from({ length: 40 }, (_, n) => `unnest([1]) a${n}`).join(", ")}`,
      400,
      13,
      /tables/,
    ],
    [nested("concat(c, c)"), 400, 13, /64 times as long/],
    [nested(`concat(${Array(400).fill("c").join(", ")})`), 400, 13, /together/],
    ["SELECT array_agg(id) OVER () AS ids FROM t", 400, 13, /OVER/],
    ["SELECT id FROM t |> SELECT id", 400, 13, /pipe/],
    [`SELECT id FROM t WHERE name = '${"x".repeat(100_000)}'`, 400, 13, /bytes/],
  ])("is rejected for the query %.60s", async (query, status, code, detail) => {
    expectFailure(await byQuery("refused", query), status, code, detail);
    expectFailure(await joust.client.post("/v1/table/refused/describe"), 404, 4);
  });

  it("is rejected for a taken or invalid name", async () => {
    expectFailure(await create("t", valid), 409, 5);
    const sdk = await joust.client.post("/v1/materialized_view/t/create/", {
      query: "SELECT 1 AS x",
    });
    expectFailure(sdk, 400, 5, /already exists/);
    expectFailure(await create("nowhere$view", { query: "SELECT 1 AS x" }), 404, 1);
    expectFailure(await create("$", { query: "SELECT 1 AS x" }), 400, 13);
    // The name is invalid whatever tables exist.
    for (const name of ["_joust", "__manifest", "ns$..", "x".repeat(200)]) {
      expectFailure(await create(name, { query: "SELECT id FROM nowhere" }), 400, 13, /name/);
    }
    expect(await joust.client.count("t")).toBe(100);
  });
});
