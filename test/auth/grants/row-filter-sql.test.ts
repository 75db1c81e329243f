/** SQL of a caller with a row filter: what it sees, and what it must not learn. */
import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sqlPort } from "../../flight/sql-port.js";
import { stream, type } from "../../harness/arrow.js";
import { createKey, runCli } from "../../harness/cli.js";
import type { Answer, Client, Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { FlightClient } from "../../harness/flight-client.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";

const joust = setupServer();
const granted = setupGrants(joust);
const FILTER = "tenant = 'a'";

/** Rows of the tenants a, b and none in turn. Only the visible rows have a secret that is a number. */
const rowsOf = (ids: readonly number[]) =>
  stream({
    id: [type.i32, ids],
    tenant: [type.text, ids.map((id) => ["a", "b", null][id % 3] ?? null)],
    secret: [type.text, ids.map((id) => (id % 3 === 0 ? `${id}` : `word${id}`))],
    vector: [type.vector(2), ids.map((id) => [id, 0])],
  });
const path = (table: string, call: string) => `/v1/table/${encodeURIComponent(table)}/${call}`;
const send = (client: Client, query: string, more: object = {}): Promise<Answer> =>
  client.request("/v1/sql", { body: { query, ...more }, headers: { accept: "application/json" } });
const rows = async (client: Client, query: string, more: object = {}): Promise<Json[]> => {
  const answer = await send(client, query, more);
  if (answer.status !== 200) throw new Error(`${query}: ${answer.status}: ${answer.text}`);
  return answer.json.rows;
};
const ids = async (client: Client, query: string): Promise<number[]> =>
  (await rows(client, query)).map(({ id }) => id).sort((a, b) => a - b);

/** The caller, and its key. */
let client: Client;
let key = "";
let id = "";

beforeAll(async () => {
  const { client: admin, root } = joust;
  await admin.createNamespace("f");
  await admin.createTable("f$t", rowsOf([...Array(12).keys()]));
  await admin.createTable("f$indexed", rowsOf([...Array(12).keys()]));
  for (const column of ["id", "tenant"]) {
    await admin.ok(path("f$indexed", "create_index"), { column, index_type: "BTREE" });
    await waitForIndex(admin, "f$indexed", `${column}_idx`);
  }
  await admin.createTable("f$open", stream({ id: [type.i32, [0, 1, 2, 3]] }));
  ({ key, id } = await createKey(root, "none"));
  client = admin.withKey(key);
  for (const name of ["t", "indexed"]) {
    const object = { kind: "table", id: ["f", name] } as const;
    await granted.grants.grant(`key:${id}`, object, ["select"], FILTER);
  }
  await granted.grants.grant(`key:${id}`, { kind: "table", id: ["f", "open"] }, ["select"]);
});

describe.each(["f.t", "f.indexed"])("a filtered caller of %s", (table) => {
  it("reads and counts the visible rows", async () => {
    expect(await ids(client, `SELECT * FROM ${table}`)).toEqual([0, 3, 6, 9]);
    for (const [query, n] of [
      [`SELECT count(*) AS n FROM ${table}`, 4],
      [`SELECT count(1) AS n FROM ${table}`, 4],
      [`SELECT count(*) AS n FROM ${table} WHERE id < 5`, 2],
      [`SELECT count(*) AS n FROM ${table} WHERE tenant = 'b' OR tenant IS NULL`, 0],
      [`SELECT count(*) AS n FROM ${table} WHERE true`, 4],
      [`SELECT count(*) AS n FROM (SELECT 1 AS one FROM ${table} LIMIT 100)`, 4],
      [`SELECT count(*) AS n FROM ${table} a CROSS JOIN ${table} b`, 16],
      [`SELECT max(id) AS n FROM ${table}`, 9],
      [`SELECT max(id) AS n FROM ${table} WHERE id < 9`, 6],
      [`SELECT sum(id) AS n FROM ${table}`, 18],
      [
        `SELECT count(*) AS n FROM f.open o WHERE EXISTS (SELECT 1 FROM ${table} t WHERE t.id = o.id)`,
        2,
      ],
      [`SELECT count(*) AS n FROM f.open WHERE id NOT IN (SELECT id FROM ${table})`, 2],
    ] as const) {
      expect([query, await rows(client, query)]).toEqual([query, [{ n }]]);
    }
    const last = `SELECT id FROM ${table} ORDER BY secret DESC, id DESC LIMIT 2`;
    expect(await ids(client, last)).toEqual([6, 9]);
    expect(await ids(client, `SELECT id FROM ${table} LIMIT 3`)).toHaveLength(3);
    expect(await rows(client, `SELECT id FROM ${table} ORDER BY id`, { limit: 1 })).toEqual([
      { id: 0 },
    ]);
    const bound = { parameters: ["b", 3] };
    const query = `SELECT id FROM ${table} WHERE tenant = $1 OR id = $2`;
    expect(await rows(client, query, bound)).toEqual([{ id: 3 }]);
  });

  // Each fails for a hidden row, and for no visible one.
  it.each([
    "SELECT id FROM T WHERE 1 / (id - 1) < 5",
    "SELECT id FROM T WHERE tenant = 'b' AND 1 / (id - 1) < 5 OR id >= 0",
    "SELECT id FROM T WHERE CAST(secret AS INT) >= 0",
    "SELECT id FROM T WHERE CAST(secret AS INT) = id AND id >= 0",
    "SELECT id FROM T WHERE CAST(secret AS BIGINT) + 0 >= 0",
    "SELECT id FROM T WHERE tenant IS NOT NULL AND CAST(secret AS INT) IN (0, 3, 6, 9)",
    "SELECT id FROM T WHERE CASE WHEN tenant = 'b' THEN 1 / (id - id) ELSE 1 END = 1",
    "SELECT id, CAST(secret AS INT) AS n FROM T",
    "SELECT id FROM T ORDER BY CAST(secret AS INT) LIMIT 100",
    "SELECT max(id) AS id FROM T GROUP BY CAST(secret AS INT)",
    "SELECT id FROM (SELECT id, CAST(secret AS INT) AS n FROM T) WHERE n >= 0",
    "SELECT id FROM (SELECT id, secret AS s FROM T UNION ALL SELECT id, '1' FROM f.open WHERE false) WHERE CAST(s AS INT) >= 0",
    "WITH w AS (SELECT * FROM T) SELECT id FROM w WHERE 10 % (id - 4) >= 0",
    "SELECT a.id FROM T a JOIN T b ON CAST(a.secret AS INT) = CAST(b.secret AS INT)",
    "SELECT a.id FROM T a JOIN T b ON a.id = b.id WHERE 1 / (b.id - 2) < 5",
    "SELECT a.id FROM T a LEFT JOIN T b ON a.id = b.id AND 1 / (b.id - 2) < 5",
    "SELECT id FROM T WHERE id IN (SELECT CAST(secret AS INT) FROM T)",
    "SELECT id FROM T WHERE id >= (SELECT min(CAST(secret AS INT)) FROM T)",
    "SELECT id FROM T t WHERE EXISTS (SELECT 1 FROM T u WHERE u.id = t.id AND 1 / (u.id - 1) < 5)",
    "SELECT id FROM T GROUP BY id HAVING min(1 / (id - 7)) < 5",
    "SELECT id, sum(CAST(secret AS INT)) OVER (ORDER BY id) AS s FROM T",
    "SELECT DISTINCT id FROM T WHERE CAST(secret AS DOUBLE) >= 0",
    "SELECT max(id) FILTER (WHERE CAST(secret AS INT) >= 0) AS id FROM T GROUP BY id",
  ])("learns nothing from a failure: %s", async (query) => {
    expect(await ids(client, query.replaceAll(/\bT\b/g, table))).toEqual([0, 3, 6, 9]);
  });

  it("gets an error that a visible row causes", async () => {
    const answer = await send(client, `SELECT id FROM ${table} WHERE 1 / (id - 3) < 5`);
    expectFailure(answer, 400, 13, /zero/i);
  });

  it("has no other columns, and no plan that shows the filter, locations or statistics", async () => {
    for (const name of ["_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version"]) {
      expectFailure(await send(client, `SELECT ${name} FROM ${table}`), 404, 12);
      expectFailure(await send(client, `SELECT id FROM ${table} WHERE ${name} > 0`), 404, 12);
    }
    for (const query of [
      `SELECT id FROM ${table} WHERE id > 3`,
      `SELECT count(*) AS n FROM ${table}`,
      `SELECT id FROM vector_search('${table}', 'vector', [1, 0], 3) WHERE id > 3`,
    ]) {
      for (const explain of ["EXPLAIN", "EXPLAIN VERBOSE"]) {
        const plans = await rows(client, `${explain} ${query}`);
        const text = plans.map(({ plan }) => plan).join("\n");
        expect(text).toMatch(/VisibleRowsExec: projection=\[(id)?\]|SearchExec: vector_search/);
        expect(text).not.toMatch(
          /tenant|'a'|Lance|ScalarIndex|KNN|fragments|num_|rows=|\.lance|\/tmp/,
        );
        expect(text).not.toContain("\u0001");
      }
    }
  });

  it("searches visible rows only", async () => {
    const search = (more: string) => `vector_search('${table}', 'vector', [1, 0], 3${more})`;
    for (const query of [
      `SELECT id FROM ${search("")}`,
      `SELECT id FROM ${search(", bypass_vector_index => true")}`,
      `SELECT id FROM ${search("")} WHERE id >= 0`,
      `SELECT s.id FROM ${search("")} s JOIN ${table} t USING (id)`,
    ]) {
      expect([query, await ids(client, query)]).toEqual([query, [0, 3, 6]]);
    }
    const text = "text_search(NAME, 'word1 3 6 word7', 10, 'secret')".replace("NAME", `'${table}'`);
    expect(await ids(client, `SELECT id FROM ${text}`)).toEqual([3, 6]);
    const hybrid = `hybrid_search('${table}', 'vector', [1, 0], 'word1 3', 3, 'secret')`;
    expect(await ids(client, `SELECT id FROM ${hybrid}`)).toEqual([0, 3, 6]);
    expect(await ids(client, `SELECT id FROM ${search("")} WHERE id > 3 OR tenant = 'b'`)).toEqual([
      6, 9,
    ]);
  });

  it("cannot give a search a prefilter that fails for hidden rows", async () => {
    const search = `vector_search('${table}', 'vector', [1, 0], 3)`;
    for (const condition of ["1 / (id - 1) < 5", "CAST(secret AS INT) >= 0", "id % 2 = 0"]) {
      const answer = await send(client, `SELECT id FROM ${search} WHERE ${condition}`);
      expectFailure(answer, 400, 13, /vector_search: .*nothing that can fail for a value/);
    }
    const found = `SELECT id FROM (SELECT * FROM ${search}) WHERE CAST(secret AS INT) >= 3`;
    expect(await ids(client, found)).toEqual([3, 6]);
  });

  it("writes what it reads into other tables", async () => {
    const made = `made_${table.slice(2)}`;
    const place = { kind: "namespace", path: ["w"] } as const;
    await joust.client.post("/v1/namespace/w/create", { mode: "exist_ok" });
    const all = ["select", "insert", "update", "create"] as const;
    await granted.grants.grant(`key:${id}`, place, all);
    const content = () => ids(joust.client, `SELECT id FROM w.${made}`);
    await rows(client, `CREATE TABLE w.${made} AS SELECT * FROM ${table}`);
    expect(await content()).toEqual([0, 3, 6, 9]);
    const failing = `INSERT INTO w.${made} SELECT * FROM ${table} WHERE CAST(secret AS INT) > 3`;
    expect(await rows(client, failing)).toEqual([{ count: 2 }]);
    const search = `vector_search('${table}', 'vector', [1, 0], 3)`;
    const found = `INSERT INTO w.${made} (id) SELECT id + 100 FROM ${search}`;
    expect(await rows(client, found)).toEqual([{ count: 3 }]);
    const merge = `MERGE INTO w.${made} AS m USING (SELECT id + 100 AS id, secret FROM ${table}) AS s ON m.id = s.id
      WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *`;
    expect(await rows(client, merge)).toEqual([{ count: 4 }]);
    expect(await content()).toEqual([0, 3, 6, 6, 9, 9, 100, 103, 106, 109]);
  });
});

describe("a filtered caller", () => {
  it("reads old versions, tags, branches and times through its filter", async () => {
    const { client: admin } = joust;
    await admin.createTable("f$old", rowsOf([...Array(12).keys()]));
    await admin.ok(path("f$old", "tags/create"), { tag: "first", version: 1 });
    await admin.ok(path("f$old", "branches/create"), { name: "side" });
    await admin.ok(path("f$old", "delete"), { predicate: "id = 0" });
    const { client: own } = await granted.filteredCaller("table:f$old", ["select"], FILTER);
    const time = new Date(Date.now() + 60_000).toISOString();
    for (const [state, visible] of [
      ["", [3, 6, 9]],
      ["FOR VERSION AS OF 1", [0, 3, 6, 9]],
      ["FOR VERSION AS OF 'first'", [0, 3, 6, 9]],
      ["FOR VERSION AS OF 'side'", [0, 3, 6, 9]],
      [`FOR TIMESTAMP AS OF '${time}'`, [3, 6, 9]],
    ] as const) {
      expect(await ids(own, `SELECT id FROM f.old ${state}`)).toEqual(visible);
      const name = `f.old ${state}`.replaceAll("'", "''");
      const search = `SELECT id FROM vector_search('${name}', 'vector', [1, 0], 12)`;
      expect(await ids(own, search)).toEqual(visible);
      const both = `SELECT count(*) AS n FROM f.old a JOIN f.old ${state} b USING (id)`;
      expect(await rows(own, both)).toEqual([{ n: 3 }]);
    }
    expectFailure(await send(own, "SELECT id FROM f.old FOR VERSION AS OF 'none'"), 404, 8);
    expectFailure(await send(own, "SELECT id FROM f.old FOR VERSION AS OF 99"), 404, 11);
  });

  it("reads nothing of a version or table to which the filter does not apply", async () => {
    const { client: admin } = joust;
    await admin.createTable("f$renamed", rowsOf([0, 1, 2, 3]));
    const { client: own } = await granted.filteredCaller("namespace:f", ["select"], FILTER);
    expect(await ids(own, "SELECT id FROM f.renamed")).toEqual([0, 3]);
    const rename = { alterations: [{ path: "tenant", rename: "owner" }] };
    await admin.ok(path("f$renamed", "alter_columns"), rename);
    expect(await ids(own, "SELECT id FROM f.renamed FOR VERSION AS OF 1")).toEqual([0, 3]);
    for (const query of [
      "SELECT id FROM f.renamed",
      "SELECT count(*) AS n FROM f.renamed",
      "EXPLAIN SELECT id FROM f.renamed",
      "SELECT id FROM f.open",
      "SELECT t.id FROM f.t JOIN f.open USING (id)",
      "SELECT id FROM vector_search('f.renamed', 'vector', [1, 0])",
    ]) {
      expectFailure(await send(own, query), 403, 15, /row filter of your grant does not apply/);
    }
    await admin.ok(path("f$declared", "declare"), {});
    expectFailure(await send(own, "SELECT * FROM f.declared"), 403, 15, /has no version yet/);
  });

  it("combines the filters of its grants, and has each table's own", async () => {
    const { client: admin } = joust;
    const table = { kind: "table", id: ["f", "t"] } as const;
    const { client: own, id } = await granted.filteredCaller("table:f$t", ["select"], FILTER);
    const subject = `key:${id}`;
    const indexed = { kind: "table", id: ["f", "indexed"] } as const;
    await granted.grants.grant(subject, indexed, ["select"], "tenant = 'b'");
    const joined = "SELECT id FROM f.t UNION ALL SELECT id FROM f.indexed";
    expect(await ids(own, joined)).toEqual([0, 1, 3, 4, 6, 7, 9, 10]);
    expect(await ids(own, "SELECT id FROM f.t JOIN f.indexed USING (id)")).toEqual([]);
    const namespace = { kind: "namespace", path: ["f"] } as const;
    await granted.grants.grant(subject, namespace, ["select"], "id = 1 OR tenant IS NULL");
    expect(await ids(own, "SELECT id FROM f.t")).toEqual([0, 1, 2, 3, 5, 6, 8, 9, 11]);
    await granted.grants.grant(subject, table, ["select"]);
    expect(await ids(own, "SELECT id FROM f.t")).toHaveLength(12);
    await granted.grants.revoke(subject, table, ["select"]);
    await granted.grants.revoke(subject, namespace, ["select"]);
    expectFailure(await send(own, "SELECT id FROM f.t"), 404, 4);
    expect(await ids(admin, "SELECT id FROM f.t")).toHaveLength(12);
  });

  it("needs the filter of select: that of another privilege reads nothing", async () => {
    const { client: own } = await granted.filteredCaller("table:f$t", ["delete"], FILTER);
    for (const query of [
      "SELECT id FROM f.t",
      "SELECT count(*) AS n FROM f.t",
      "EXPLAIN SELECT 1 AS x FROM f.t",
    ]) {
      expectFailure(await send(own, query), 403, 15, /needs the privilege select on it/);
    }
  });

  it("finds the columns of the table in information_schema, and no other table", async () => {
    const { client: own } = await granted.filteredCaller("table:f$t", ["select"], FILTER);
    const names = await rows(own, "SELECT table_schema, table_name FROM information_schema.tables");
    expect(names).toEqual([{ table_schema: "f", table_name: "t" }]);
    const columns = await rows(own, "SELECT column_name FROM information_schema.columns");
    expect(columns.map(({ column_name }) => column_name)).toEqual([
      "id",
      "tenant",
      "secret",
      "vector",
    ]);
  });

  it("changes the table as the operations allow, and makes no view of it", async () => {
    const { client: admin } = joust;
    await admin.createTable("f$changed", rowsOf([...Array(12).keys()]));
    const all = ["select", "insert", "update", "delete"] as const;
    const { client: own, id } = await granted.filteredCaller("table:f$changed", all, FILTER);
    await granted.grants.grant(`key:${id}`, { kind: "namespace", path: ["f"] }, ["create"]);
    const changed = "f.changed";
    const copy = `INSERT INTO ${changed} SELECT id + 100, tenant, secret, vector FROM ${changed}`;
    expect(await rows(own, copy)).toEqual([{ count: 4 }]);
    const foreign = `INSERT INTO ${changed} SELECT id, 'b', secret, vector FROM ${changed}`;
    expectFailure(await send(own, foreign), 403, 15, /does not match the row filter/);
    const merge = `MERGE INTO ${changed} AS m USING f.t AS s ON m.id = s.id WHEN MATCHED THEN UPDATE SET *`;
    expectFailure(await send(own, merge), 403, 15);
    expect(await rows(own, `UPDATE ${changed} SET secret = 'x' WHERE id < 4`)).toEqual([
      { count: 2 },
    ]);
    for (const query of [
      `UPDATE ${changed} SET secret = 'x' WHERE 1 / (id - 1) < 5`,
      `DELETE FROM ${changed} WHERE CAST(secret AS INT) > 1`,
    ]) {
      expectFailure(await send(own, query), 400, 13, /nothing that can fail for a value/);
    }
    expect(await rows(own, `DELETE FROM ${changed}`)).toEqual([{ count: 8 }]);
    expect(await ids(admin, `SELECT id FROM ${changed}`)).toEqual([1, 2, 4, 5, 7, 8, 10, 11]);
    for (const name of ["changed", "t"]) {
      const replace = `CREATE OR REPLACE TABLE f.${name} AS SELECT * FROM ${changed}`;
      expectFailure(await send(own, replace), 403, 15);
    }
    const view = `CREATE MATERIALIZED VIEW f.seen AS SELECT id FROM ${changed}`;
    expectFailure(await send(own, view), 403, 15, /needs the privilege select on it/);
    expectFailure(await send(admin, "SELECT * FROM f.seen"), 404, 4);
  });
});

describe("over other ways", () => {
  let flight: FlightClient;
  beforeAll(() => {
    flight = new FlightClient(`http://127.0.0.1:${sqlPort(joust.server)}`, key);
  });
  afterAll(() => flight.close());

  it("Flight SQL has the same filter", async () => {
    const found = await flight.sql("SELECT id FROM f.t WHERE CAST(secret AS INT) >= 0 ORDER BY id");
    expect(found.toArray().map(({ id }) => id)).toEqual([0, 3, 6, 9]);
    const counted = await flight.sql("SELECT count(*) AS n FROM f.indexed");
    expect(Number(counted.get(0)?.n)).toBe(4);
    const search = "SELECT id FROM vector_search('f.t', 'vector', [1, 0], 3) ORDER BY id";
    expect((await flight.sql(search)).toArray().map(({ id }) => id)).toEqual([0, 3, 6]);
  });

  it("`joust sql --url` has the same filter", async () => {
    const args = ["sql", "SELECT id FROM f.t ORDER BY id", "--url", joust.client.url];
    const { code, out } = await runCli([...args, "--format", "csv"], {
      env: { JOUST_API_KEY: key },
    });
    expect([code, out.trim().split("\r\n")]).toEqual([0, ["id", "0", "3", "6", "9"]]);
  });

  it("every format has the visible rows", async () => {
    const query = "SELECT id, secret FROM f.indexed ORDER BY id";
    const answer = await client.request("/v1/sql", { body: { query } });
    expect([...(tableFromIPC(answer.bytes).getChild("id") ?? [])]).toEqual([0, 3, 6, 9]);
    for (const accept of ["text/csv", "application/x-ndjson"]) {
      const { text } = await client.request("/v1/sql", { body: { query }, headers: { accept } });
      expect(text).toContain("9");
      expect(text).not.toContain("word");
    }
  });
});
