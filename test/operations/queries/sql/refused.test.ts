import { beforeAll, describe, expect, it } from "vitest";
import { roles } from "../../../../src/auth/roles.js";
import { items } from "../../../harness/arrow.js";
import { createKey } from "../../../harness/cli.js";
import type { Answer } from "../../../harness/client.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";
import { sqlClient } from "./sql-client.js";

const joust = setupServer();
const { send, rows } = sqlClient(joust);

beforeAll(async () => {
  await joust.client.createTable("t", items(10));
});

const refused = async (query: string, more: object = {}): Promise<Answer> =>
  send({ query, ...more });

const nested = (levels: number): string =>
  `SELECT ${"(".repeat(levels)}1${")".repeat(levels)} AS x`;

describe("an invalid statement is rejected", () => {
  it.each<[string, number, number, RegExp]>([
    ["TRUNCATE TABLE t", 406, 0, /DELETE FROM t/],
    ["CREATE VIEW u AS SELECT * FROM t", 406, 0, /CREATE MATERIALIZED VIEW/],
    ["CREATE TEMPORARY TABLE u AS SELECT 1 AS x", 406, 0, /CREATE \[OR REPLACE\] TABLE/],
    ["DROP VIEW t", 406, 0, /DROP MATERIALIZED VIEW/],
    ["DROP DATABASE d", 406, 0, /DROP SCHEMA/],
    ["INSERT OVERWRITE t SELECT 1", 406, 0, /INSERT INTO t/],
    ["SHOW TABLES", 406, 0, /information_schema/],
    ["DESCRIBE t", 406, 0, /information_schema/],
    ["EXPLAIN DELETE FROM t", 400, 13, /EXPLAIN takes a SELECT/],
    ["CREATE EXTERNAL TABLE u STORED AS CSV LOCATION '/etc/passwd'", 400, 13, /./],
    ["COPY t TO '/tmp/x.csv'", 400, 13, /a statement is a SELECT/],
    ["SET datafusion.execution.batch_size = 1", 400, 13, /a statement is a SELECT/],
    ["SELECT 1; DROP TABLE t", 400, 13, /more than one statement/],
    ["SELECT id INTO u FROM t", 400, 13, /./],
    ["", 400, 13, /empty/],
    ["SELEC 1", 400, 13, /can't be read/],
    ["SELECT * FROM none", 404, 4, /"none" does not exist/],
    ["SELECT * FROM none.t", 404, 1, /"none" does not exist/],
    ["SELECT * FROM '/etc/passwd'", 404, 4, /does not exist/],
    ["SELECT * FROM datafusion.information_schema.tables", 404, 1, /does not exist/],
    ["SELECT none FROM t", 404, 12, /none/],
    ["SELECT t.id FROM t u", 404, 12, /id/],
    ["SELECT id + name FROM t", 400, 13, /./],
    ["SELECT sum(id) FROM t GROUP BY none", 404, 12, /none/],
    ["SELECT id, count(*) FROM t", 400, 13, /./],
    ["SELECT ns.t.id FROM t JOIN ns.t ON t.id = ns.t.id", 400, 13, /`ns.t AS t2`/],
    [nested(100), 400, 13, /nested too deeply/],
    [nested(60_000), 400, 13, /bytes|nested/],
    [`SELECT ${"1+".repeat(5_000)}1`, 400, 13, /operators/],
    [`SELECT 1${", 1".repeat(40_000)}`, 400, 13, /bytes/],
    [Array(100).fill("SELECT 1").join(" UNION ALL "), 400, 13, /more than 32 SELECTs/],
    [`SELECT 1 FROM t${", t".repeat(40)}`, 400, 13, /more than 32 tables/],
    [
      "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
      400,
      13,
      /./,
    ],
    ["SELECT * FROM generate_series(1, 1000000000000)", 400, 13, /generate_series/],
    ["SELECT repeat('x', 1000000000)", 400, 13, /bytes/],
    ["SELECT range(1, 1000000000)", 400, 13, /`range` is not available/],
    ["SELECT arrow_metadata(id) FROM t", 400, 13, /`arrow_metadata` is not available/],
    ["SELECT getenv('HOME')", 400, 13, /`getenv` is not available/],
    ["SELECT regexp_like(name, name) FROM t", 400, 13, /regular expression/],
    ["SELECT * FROM t TABLESAMPLE (10 PERCENT)", 400, 13, /TABLESAMPLE/],
    ["SELECT * FROM t FOR UPDATE", 400, 13, /FOR UPDATE/],
    ["SELECT * FROM t FETCH FIRST 1 ROW ONLY", 400, 13, /./],
    ["EXPLAIN ANALYZE SELECT 1", 400, 13, /EXPLAIN/],
  ])("for %.70s", async (query, status, code, detail) => {
    expectFailure(await refused(query), status, code, detail);
  });

  it.each<[string, unknown, RegExp]>([
    ["SELECT $1", undefined, /`\$1` and 0 parameters/],
    ["SELECT $1, $3", [1, 2, 3], /no `\$2`/],
    ["SELECT $2", [1], /`\$2` and 1 parameter/],
    ["SELECT 1", [1], /`parameters`.*no `\$1`/],
    ["SELECT ?, ?", [1], /`\$2` and 1 parameter/],
    ["SELECT ?, $1", [1], /use one form/],
    ["SELECT $name", [1], /placeholders are \$1/],
    ["SELECT $1", [{ a: 1 }], /parameter 1: an object/],
    ["SELECT $1", { a: 1 }, /parameters/],
    ["SELECT id FROM t WHERE id = $1", ["x"], /./],
    ["SELECT * FROM $1", ["t"], /./],
    ["SELECT repeat('x', $1)", [1_000_000_000], /bytes/],
    ["SELECT id FROM t LIMIT $1", [-1], /./],
  ])("for %s with the parameters %j", async (query, parameters, detail) => {
    expectFailure(await refused(query, { parameters }), 400, 13, detail);
  });

  it.each<[string, string | Uint8Array, RegExp]>([
    ["a body that is not JSON", "SELECT 1", /not JSON/],
    ["a body that is not an object", "[1]", /expected an object/],
    ["no query", "{}", /query/],
    ["a query that is not a string", '{"query":1}', /query/],
    ["a negative limit", '{"query":"SELECT 1","limit":-1}', /limit/],
    ["a limit that is not a number", '{"query":"SELECT 1","limit":"1"}', /limit/],
    [
      "a body that is not UTF-8",
      Buffer.from([...Buffer.from('{"query":"SELECT \''), 0xff, ...Buffer.from("'\"}")]),
      /UTF-8/,
    ],
    ["deep JSON", `{"query":"SELECT $1","parameters":[${"[".repeat(200)}${"]".repeat(200)}]}`, /./],
  ])("for the request body: %s", async (_, body, detail) => {
    expectFailure(await send(body), 400, 13, detail);
  });

  it.each([
    "SELECT name FROM t WHERE name = $1",
    "UPDATE t SET name = $1",
    "DELETE FROM t WHERE name <> $1",
    "INSERT INTO t (name) VALUES ($1)",
  ])("for %s with the internal member `open`", async (query) => {
    const answer = await refused(query, { parameters: ["x"], open: true });
    expectFailure(answer, 400, 13, /the parameters of the statement have no values/);
    expect(await rows("SELECT count(name) AS n FROM t WHERE name LIKE 'item %'")).toEqual([
      { n: 10 },
    ]);
  });

  it("without a change to the table or the server", async () => {
    expect(await rows("SELECT count(*) AS n FROM t")).toEqual([{ n: 10 }]);
  });
});

describe("a caller of the SQL endpoint", () => {
  it("needs a key of any role", async () => {
    const query = "SELECT count(*) AS n FROM t";
    expect((await send({ query }, undefined, joust.client.withKey(""))).status).toBe(401);
    for (const role of roles) {
      const { key } = await createKey(joust.root, role);
      const client = joust.client.withKey(key);
      expect((await send({ query }, undefined, client)).json.rows).toEqual([{ n: 10 }]);
    }
  });
});
