import { tableFromIPC } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForJobResult } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { statementClient } from "./statement-client.js";

const joust = setupServer();
const { send, rows, changed, define } = statementClient(joust);

beforeAll(async () => {
  await joust.client.createTable("t", items(100));
  await joust.client.createNamespace("a");
  await joust.client.createNamespace("a$b");
  await joust.client.createTable("a$b$t", items(10));
});

/** The statements as LanceDB's SDK 0.41 writes them. */
describe("a materialized view", () => {
  it("is created, filled, described, refreshed, listed and dropped", async () => {
    const query = 'SELECT id AS "id", upper(name) AS "NAME" FROM "t" WHERE id < 3';
    const created = await define(
      `CREATE MATERIALIZED VIEW "v" WITH (auto_refresh_enabled = false) AS ${query}`,
    );
    expect(created.headers.get("x-transaction-id")).toMatch(/\w/);
    expect(await rows("SELECT * FROM v ORDER BY id")).toHaveLength(3);
    expect(await rows('DESCRIBE MATERIALIZED VIEW "v"')).toEqual([{ query }]);
    await changed("INSERT INTO t (id, name) VALUES (-1, 'new')");
    await define('REFRESH MATERIALIZED VIEW "v"');
    expect(await rows("SELECT count(*) AS n FROM v")).toEqual([{ n: 4 }]);
    await changed("DELETE FROM t WHERE id = -1");
    await define('REFRESH MATERIALIZED VIEW "v" WITH (full = true)');
    expect(await rows("SELECT count(*) AS n FROM v")).toEqual([{ n: 3 }]);
    expect(await rows("SHOW MATERIALIZED VIEWS LIMIT 101")).toEqual([{ name: "v" }]);
    await define('DROP MATERIALIZED VIEW "v"');
    expect(await rows("SHOW MATERIALIZED VIEWS LIMIT 101")).toEqual([]);
    expectFailure(await send('DESCRIBE MATERIALIZED VIEW "v"'), 404, 4);
  });

  it("reads sources whose namespace is one quoted name", async () => {
    await define('CREATE MATERIALIZED VIEW "nested" AS SELECT * FROM "a$b"."t" LIMIT 4');
    expect(await rows("SELECT count(*) AS n FROM nested")).toEqual([{ n: 4 }]);
    await define('CREATE MATERIALIZED VIEW "a$b"."beside" AS SELECT id FROM "t"');
    expect(await rows('SELECT count(*) AS n FROM "a$b".beside')).toEqual([{ n: 10 }]);
    await define("DROP MATERIALIZED VIEW nested");
  });

  it("is replaced at once by a filled one", async () => {
    await define("CREATE MATERIALIZED VIEW again AS SELECT id FROM t");
    await define("CREATE OR REPLACE MATERIALIZED VIEW again AS SELECT count(*) AS n FROM t");
    expect(await rows("SELECT * FROM again")).toEqual([{ n: 100 }]);
    const failing = "CREATE OR REPLACE MATERIALIZED VIEW again AS SELECT none FROM t";
    expectFailure(await send(failing), 404, 12);
    const itself = "CREATE OR REPLACE MATERIALIZED VIEW again AS SELECT n FROM again";
    expectFailure(await send(itself), 400, 13, /reads the view that it replaces/);
    expect(await rows("SELECT * FROM again")).toEqual([{ n: 100 }]);
    expect(await rows("SHOW MATERIALIZED VIEWS")).toEqual([{ name: "again" }]);
    await define("CREATE MATERIALIZED VIEW IF NOT EXISTS again AS SELECT id FROM t");
    expectFailure(await send("CREATE MATERIALIZED VIEW again AS SELECT id FROM t"), 409, 5);
    await define("CREATE OR REPLACE MATERIALIZED VIEW fresh AS SELECT id FROM t LIMIT 1");
    await define("DROP MATERIALIZED VIEW fresh");
    await define("DROP MATERIALIZED VIEW again");
    await define("DROP MATERIALIZED VIEW IF EXISTS again");
  });

  it("has one of the two contents for every query that starts while it is replaced", async () => {
    const replace = (n: number) =>
      define(`CREATE OR REPLACE MATERIALIZED VIEW swapped AS SELECT count(*) + ${n} AS n FROM t`);
    await replace(0);
    let replaced = false;
    const replacing = (async () => {
      for (let n = 1; n <= 5; n++) await replace(n);
      replaced = true;
    })();
    const seen: number[] = [];
    while (!replaced) {
      const [row] = await rows("SELECT n FROM swapped");
      seen.push((row as { n: number }).n);
    }
    await replacing;
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(await rows("SELECT n FROM swapped")).toEqual([{ n: (seen[0] as number) + 5 }]);
    expect(await rows("SHOW MATERIALIZED VIEWS WHERE name > 'swappe'")).toEqual([
      { name: "swapped" },
    ]);
    await define("DROP MATERIALIZED VIEW swapped");
  });

  it("does not exist if it cannot be filled", async () => {
    const query = "CREATE MATERIALIZED VIEW failed AS SELECT CAST(name AS INT) AS n FROM t";
    const answer = await send(query);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expectFailure(await send("SELECT * FROM failed"), 404, 4);
  });

  it("is refreshed in the background if the client prefers it", async () => {
    await define("CREATE MATERIALIZED VIEW later AS SELECT id FROM t");
    const headers = { prefer: "respond-async" };
    const query = "REFRESH MATERIALIZED VIEW later WITH (full = true)";
    const answer = await send(query, { headers });
    expect(answer.headers.get("preference-applied")).toBe("respond-async");
    const result = await waitForJobResult(joust.client, answer.json.rows[0].job_id);
    expect(result.rows_written).toBe(100);
    await define("DROP MATERIALIZED VIEW later");
  });

  it("is listed in byte order behind a name", async () => {
    await define("CREATE SCHEMA many");
    for (const name of ["b", "a", "C", "d-1"]) {
      await define(`CREATE MATERIALIZED VIEW many."${name}" AS SELECT id FROM public.t LIMIT 1`);
    }
    const names = async (rest: string) =>
      (await rows(`SHOW MATERIALIZED VIEWS IN many ${rest}`)).map(({ name }) => name);
    expect(await names("")).toEqual(["C", "a", "b", "d-1"]);
    expect(await names("LIMIT 2")).toEqual(["C", "a"]);
    expect(await names("WHERE name > 'a' LIMIT 2")).toEqual(["b", "d-1"]);
    expect(await names("WHERE name > 'd-1' LIMIT 2")).toEqual([]);
    expect(await names("LIMIT 0")).toEqual([]);
    const body = { query: "SHOW MATERIALIZED VIEWS IN many WHERE name > 'x' LIMIT 5" };
    const empty = tableFromIPC((await joust.client.request("/v1/sql", { body })).bytes);
    expect(empty.schema.fields.map(String)).toEqual(["name: Utf8"]);
  });

  it.each<[string, number, number, RegExp]>([
    [
      "CREATE MATERIALIZED VIEW x WITH (auto_refresh_interval_seconds = 0) AS SELECT id FROM t",
      400,
      13,
      /above 0/,
    ],
    [
      "CREATE MATERIALIZED VIEW x WITH (auto_refresh_enabled = 'no') AS SELECT id FROM t",
      400,
      13,
      /true or false/,
    ],
    ["CREATE MATERIALIZED VIEW x WITH (color = 1) AS SELECT id FROM t", 400, 13, /`color`/],
    ["CREATE MATERIALIZED VIEW x AS SELECT id FROM none", 404, 4, /none/],
    ["CREATE MATERIALIZED VIEW x AS DELETE FROM t", 400, 13, /SELECT/],
    ["CREATE MATERIALIZED VIEW x AS SELECT 1; DROP TABLE t", 400, 13, /more than one/],
    ["CREATE OR REPLACE MATERIALIZED VIEW t AS SELECT 1 AS x", 409, 19, /not a materialized view/],
    ["REFRESH MATERIALIZED VIEW t", 409, 19, /not a materialized view/],
    ["REFRESH MATERIALIZED VIEW none", 404, 4, /none/],
    ["REFRESH MATERIALIZED VIEW t WITH (full = 'yes')", 400, 13, /full/],
    ["DROP MATERIALIZED VIEW t", 409, 19, /not a materialized view/],
    ["DESCRIBE MATERIALIZED VIEW t", 409, 19, /not a materialized view/],
    ["SHOW MATERIALIZED VIEWS IN none", 404, 1, /none/],
    ["SHOW MATERIALIZED VIEWS WHERE name = 'a'", 400, 13, />/],
  ])("reports an error for %s", async (query, status, code, detail) => {
    expectFailure(await send(query), status, code, detail);
    expect(await joust.client.count("t")).toBe(100);
  });
});
