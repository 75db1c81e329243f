import { tableFromIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { statementClient } from "./statement-client.js";

const joust = setupServer();
const { send, rows, changed, define } = statementClient(joust);

const columns = async (table: string, schema = "public"): Promise<string[]> => {
  const found = await rows(
    "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position",
    [schema, table],
  );
  return found.map(
    ({ column_name, data_type, is_nullable }) => `${column_name} ${data_type} ${is_nullable}`,
  );
};

describe("CREATE TABLE", () => {
  it("creates columns of every type", async () => {
    await define(
      `CREATE TABLE typed (a TINYINT, b INT NOT NULL, c BIGINT UNSIGNED, d FLOAT, e DOUBLE,
       f DECIMAL(10, 2), g TEXT, h VARCHAR(10), i BYTEA, j BOOLEAN, k DATE, l TIMESTAMP,
       m TEXT[], n FLOAT[3], o VECTOR(4), p INT[2][], "with space" INT NULL)`,
    );
    expect(await columns("typed")).toEqual([
      "a Int8 YES",
      "b Int32 NO",
      "c UInt64 YES",
      "d Float32 YES",
      "e Float64 YES",
      "f Decimal128(10, 2) YES",
      "g Utf8 YES",
      "h Utf8 YES",
      "i Binary YES",
      "j Boolean YES",
      "k Date32 YES",
      "l Timestamp(ns) YES",
      "m List(Utf8) YES",
      "n FixedSizeList(3 x Float32) YES",
      "o FixedSizeList(4 x Float32) YES",
      expect.stringMatching(/^p List\(FixedSizeList\(2 x Int32\)\) YES$/),
      "with space Int32 YES",
    ]);
    expect(await changed("INSERT INTO typed (b, o) VALUES (1, [1, 2, 3, 4])")).toBe(1);
    const vector = { single_vector: [1, 2, 3, 4] };
    const found = await joust.client.query("typed", { k: 1, vector, vector_column: "o" });
    expect(found.numRows).toBe(1);
  });

  it("creates a table of a query's rows, in any namespace", async () => {
    await joust.client.createTable("source", items(50_000));
    await define("CREATE SCHEMA a");
    await define("CREATE SCHEMA a.b");
    await define("CREATE TABLE a.b.copy AS SELECT id, name, id * 2 AS twice FROM source");
    expect(await columns("copy", "a$b")).toEqual([
      "id Int64 YES",
      "name Utf8 YES",
      "twice Int64 YES",
    ]);
    expect(await joust.client.count("a$b$copy")).toBe(50_000);
    await define("CREATE TABLE public.here AS SELECT 1 AS one");
    expect(await joust.client.count("here")).toBe(1);
    await define('CREATE TABLE "a$b"."there" AS SELECT 1 AS one');
    expect(await rows("SELECT * FROM a.b.there")).toEqual([{ one: 1 }]);
  });

  it("keeps, replaces or refuses an existing table", async () => {
    await define("CREATE TABLE once AS SELECT 1 AS x");
    expectFailure(await send("CREATE TABLE once AS SELECT 2 AS x"), 409, 5, /already exists/);
    await define("CREATE TABLE IF NOT EXISTS once AS SELECT 2 AS x");
    expect(await rows("SELECT * FROM once")).toEqual([{ x: 1 }]);
    await define("CREATE OR REPLACE TABLE once AS SELECT 'a' AS y, x FROM once");
    expect(await rows("SELECT * FROM once")).toEqual([{ y: "a", x: 1 }]);
    await define("DROP TABLE once");
    expectFailure(await send("SELECT * FROM once"), 404, 4);
    expectFailure(await send("DROP TABLE once"), 404, 4);
    await define("DROP TABLE IF EXISTS once");
    await define("DROP TABLE IF EXISTS none.once");
  });

  it("leaves no table if the query fails", async () => {
    const query = "CREATE TABLE failed AS SELECT CAST(name AS INT) AS n FROM source";
    expectFailure(await send(query), 400, 13);
    expectFailure(await send("SELECT * FROM failed"), 404, 4);
    await define("CREATE TABLE failed AS SELECT 1 AS n");
  });

  it.each<[string, number, number, RegExp]>([
    ["CREATE TABLE x (a UUID)", 400, 13, /UUID/],
    ["CREATE TABLE x (a INT, a INT)", 400, 20, /two columns `a`/],
    ["CREATE TABLE x (a INT PRIMARY KEY)", 400, 13, /PRIMARY/],
    ['CREATE TABLE x ("a.b" INT)', 400, 13, /no column name/],
    ["CREATE TABLE x AS SELECT 1 AS a, 2 AS a", 400, 13, /a/],
    ["CREATE TABLE none.x (a INT)", 404, 1, /none/],
    ["CREATE TABLE x", 400, 13, /ends where AS SELECT/],
    ["CREATE TABLE x (v FLOAT[100000])", 400, 13, /ARRAY/],
  ])("reports an error for %s", async (query, status, code, detail) => {
    expectFailure(await send(query), status, code, detail);
    expectFailure(await send("SELECT * FROM x"), 404, 4);
  });

  it("answers DDL as an Arrow stream without columns", async () => {
    const body = { query: "CREATE TABLE arrow (a INT)" };
    const answer = await joust.client.request("/v1/sql", { body });
    const table = tableFromIPC(answer.bytes);
    expect([table.schema.fields, table.numRows]).toEqual([[], 0]);
    const headers = { accept: "text/csv", "content-type": "application/json" };
    const drop = JSON.stringify({ query: "DROP TABLE arrow" });
    const csv = await joust.client.request("/v1/sql", { body: drop, headers });
    expect([csv.status, csv.text.trim()]).toEqual([200, ""]);
  });
});

describe("ALTER TABLE", () => {
  it("adds, renames and drops columns, and renames tables", async () => {
    await define("CREATE TABLE altered AS SELECT 1 AS a");
    await define("ALTER TABLE altered ADD COLUMN b TEXT, ADD COLUMN v FLOAT[2]");
    await define("ALTER TABLE altered RENAME COLUMN b TO c");
    expect(await rows("SELECT * FROM altered")).toEqual([{ a: 1, c: null, v: null }]);
    await define("ALTER TABLE altered DROP COLUMN c, v");
    expect(await columns("altered")).toEqual(["a Int64 YES"]);
    await define("CREATE SCHEMA moved");
    await define("ALTER TABLE altered RENAME TO moved.away");
    await define("ALTER TABLE moved.away RENAME TO again");
    expect(await rows("SELECT * FROM moved.again")).toEqual([{ a: 1 }]);
  });

  it.each<[string, number, number, RegExp]>([
    ["ALTER TABLE none ADD COLUMN x INT", 404, 4, /none/],
    ["ALTER TABLE source ADD COLUMN id INT", 400, 13, /id/],
    ["ALTER TABLE source ADD COLUMN x INT NOT NULL", 400, 13, /leave NOT NULL out/],
    ["ALTER TABLE source DROP COLUMN none", 404, 12, /none/],
    ["ALTER TABLE source RENAME COLUMN none TO x", 404, 12, /none/],
    ["ALTER TABLE source RENAME TO none.x", 404, 1, /none/],
    ["ALTER TABLE source MODIFY COLUMN id INT", 400, 13, /ADD COLUMN, DROP COLUMN, ALTER COLUMN/],
  ])("reports an error for %s", async (query, status, code, detail) => {
    expectFailure(await send(query), status, code, detail);
  });
});

describe("ALTER COLUMN", () => {
  const version = async () => (await joust.client.ok("/v1/table/cast/describe", {})).version;

  it("casts the values of columns in one version", async () => {
    await define(
      `CREATE TABLE cast (id BIGINT NOT NULL, n INT, d DECIMAL(10, 2), v FLOAT[2], at TIMESTAMP, l INT[], "Odd name" REAL)`,
    );
    await define("ALTER TABLE cast ADD COLUMN s TEXT");
    await changed(
      "INSERT INTO cast VALUES (1, 5, 1.25, [1, 2], '2024-01-02T03:04:05', [1, 2], 0.5, 'a'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    );
    const before = await version();
    const reply = await define(
      `ALTER TABLE cast ALTER COLUMN n TYPE BIGINT, ALTER d SET DATA TYPE DECIMAL(12, 3), ALTER COLUMN v TYPE DOUBLE[2], ALTER COLUMN at TYPE DATE, ALTER COLUMN l TYPE BIGINT[], ALTER COLUMN "Odd name" TYPE DOUBLE`,
    );
    expect(reply.headers.get("x-lancedb-version")).toBe(String(before + 1));
    expect(await version()).toBe(before + 1);
    expect(await columns("cast")).toEqual([
      "id Int64 NO",
      "n Int64 YES",
      "d Decimal128(12, 3) YES",
      "v FixedSizeList(2 x Float64) YES",
      "at Date32 YES",
      "l List(Int64) YES",
      "Odd name Float64 YES",
      "s Utf8 YES",
    ]);
    const [row, nulls] = await rows("SELECT * FROM cast ORDER BY id");
    expect(row).toEqual({
      id: 1,
      n: 5,
      d: "1.250",
      v: [1, 2],
      at: "2024-01-02",
      l: [1, 2],
      "Odd name": 0.5,
      s: "a",
    });
    expect(Object.values(nulls).filter((value) => value !== null)).toEqual([2]);
    await define("ALTER TABLE cast ALTER COLUMN v TYPE VECTOR(2)");
    expect((await columns("cast"))[3]).toBe("v FixedSizeList(2 x Float32) YES");
  });

  it("takes and drops NOT NULL", async () => {
    await define("ALTER TABLE cast ALTER COLUMN id DROP NOT NULL");
    await changed("INSERT INTO cast (id) VALUES (NULL)");
    const refused = await send("ALTER TABLE cast ALTER COLUMN id SET NOT NULL");
    expectFailure(refused, 400, 13, /"id" contains NULL/);
    await changed("DELETE FROM cast WHERE id IS NULL");
    await define("ALTER TABLE cast ALTER COLUMN id SET NOT NULL");
    expectFailure(await send("INSERT INTO cast (id) VALUES (NULL)"), 400, 13, /takes no null/);
    expect((await columns("cast"))[0]).toBe("id Int64 NO");
  });

  it.each<[string, number, number, RegExp]>([
    ["id TYPE TINYINT", 400, 13, /300/],
    ["s TYPE INT", 400, 13, /Cannot cast column "s"/],
    ["n TYPE TEXT", 400, 13, /Cannot cast column "n"/],
    ["n SET NOT NULL", 400, 13, /"n" contains NULL/],
    ["none TYPE INT", 404, 12, /none/],
    ["n TYPE UUID", 400, 13, /UUID/],
    ["n TYPE", 400, 13, /./],
    ["n TYPE JSON", 406, 0, /cannot become JSON/],
    ["n TYPE INT USING n + 1", 406, 0, /no USING/],
    ["n TYPE INT, ALTER COLUMN id DROP NOT NULL", 406, 0, /two statements/],
    ["n TYPE INT, ALTER COLUMN n TYPE BIGINT", 400, 13, /`n` twice/],
    ["n SET DEFAULT 1", 400, 13, /TYPE, SET DATA TYPE, SET NOT NULL or DROP NOT NULL/],
    ["n DROP DEFAULT", 400, 13, /TYPE, SET DATA TYPE, SET NOT NULL or DROP NOT NULL/],
    ["n INT", 400, 13, /TYPE, SET DATA TYPE, SET NOT NULL or DROP NOT NULL/],
    ["n TYPE INT CASCADE", 400, 13, /CASCADE/],
  ])("reports an error for %s, and changes nothing", async (alteration, status, code, detail) => {
    await changed("DELETE FROM cast WHERE id = 300");
    await changed("INSERT INTO cast (id) VALUES (300)");
    const before = await version();
    const answer = await send(`ALTER TABLE cast ALTER COLUMN ${alteration}`);
    expectFailure(answer, status, code, detail);
    expect(await version()).toBe(before);
  });

  it("does not cast a column with an index", async () => {
    await define("CREATE INDEX ON cast (n)");
    const answer = await send("ALTER TABLE cast ALTER COLUMN n TYPE INT");
    expectFailure(answer, 400, 13, /n_idx/);
  });
});

describe("schemas", () => {
  it("are created and dropped", async () => {
    await define("CREATE SCHEMA s");
    expectFailure(await send("CREATE SCHEMA s"), 409, 2);
    await define("CREATE SCHEMA IF NOT EXISTS s");
    await define("CREATE TABLE s.t AS SELECT 1 AS one");
    expectFailure(await send("DROP SCHEMA s"), 409, 3);
    await define("DROP SCHEMA s CASCADE");
    expectFailure(await send("DROP SCHEMA s"), 404, 1);
    await define("DROP SCHEMA IF EXISTS s");
    expectFailure(await send("SELECT * FROM s.t"), 404, 1);
  });
});

describe("indexes", () => {
  // An unoptimised engine on a busy machine needs long for the vectors.
  it("are built, used and dropped", { timeout: 120_000 }, async () => {
    await define("CREATE TABLE indexed AS SELECT * FROM source");
    await define("CREATE INDEX by_id ON indexed USING BTREE (id)");
    const plan = await rows("EXPLAIN SELECT name FROM indexed WHERE id = 7");
    expect(plan[1].plan).toContain("ScalarIndexQuery");
    await define(
      "CREATE INDEX by_vector ON indexed USING IVF_PQ (vector) WITH (num_partitions = 2, num_sub_vectors = 2, distance_type = 'cosine')",
    );
    const { indexes } = await joust.client.ok("/v1/table/indexed/index/list", {});
    expect(
      indexes.map(({ index_name, status }: { index_name: string; status: string }) => [
        index_name,
        status,
      ]),
    ).toEqual([
      ["by_id", "Ready"],
      ["by_vector", "Ready"],
    ]);
    expectFailure(await send("CREATE INDEX by_id ON indexed (name)"), 409, 7);
    await define("CREATE INDEX IF NOT EXISTS by_id ON indexed (id)");
    await define("DROP INDEX by_id ON indexed");
    expectFailure(await send("DROP INDEX by_id ON indexed"), 404, 6);
    await define("DROP INDEX IF EXISTS by_id ON indexed");
  });

  it("are built in the background if the client prefers it", async () => {
    const headers = { prefer: "respond-async" };
    const answer = await send("CREATE INDEX later ON indexed (name)", { headers });
    expect(answer.headers.get("preference-applied")).toBe("respond-async");
    const [{ job_id }] = answer.json.rows;
    const job = await joust.client.ok("/v1/jobs/describe", { job_id });
    expect(job.job_type).toBe("index_build");
  });

  it.each<[string, number, number, RegExp]>([
    ["CREATE INDEX ON none (id)", 404, 4, /none/],
    ["CREATE INDEX ON source (none)", 404, 12, /none/],
    ["CREATE INDEX ON source USING NONE (id)", 400, 13, /NONE/],
    ["CREATE INDEX ON source (id, name)", 400, 13, /one column/],
    ["CREATE INDEX ON source (id) WITH (none = 1)", 400, 13, /options of an index/],
    ["CREATE INDEX ON source USING IVF_PQ (vector) WITH (num_bits = 'x')", 400, 13, /num_bits/],
    ["DROP INDEX none", 400, 13, /ON/],
  ])("report an error for %s", async (query, status, code, detail) => {
    expectFailure(await send(query), status, code, detail);
  });
});
