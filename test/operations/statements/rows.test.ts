import { tableFromIPC } from "apache-arrow";
import { beforeEach, describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import { ARROW_STREAM } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { statementClient } from "./statement-client.js";

const joust = setupServer();
const { send, rows, changed, define } = statementClient(joust);

let number = 0;
let t = "";
beforeEach(async () => {
  t = `t${number++}`;
  await define(
    `CREATE TABLE ${t} (id BIGINT NOT NULL, name TEXT, price FLOAT, v FLOAT[2], j JSON)`,
  );
});

const version = async (): Promise<number> =>
  (await joust.client.ok(`/v1/table/${t}/describe`, {})).version;

describe("INSERT", () => {
  it("writes values with the types of the table in one version", async () => {
    const before = await version();
    expect(
      await changed(
        `INSERT INTO ${t} VALUES (1, 'one', 1.5, [1, 2], '{"a": [1]}'), (2, NULL, 2, NULL, NULL)`,
      ),
    ).toBe(2);
    expect(await version()).toBe(before + 1);
    expect(await rows(`SELECT * FROM ${t} ORDER BY id`)).toEqual([
      { id: 1, name: "one", price: 1.5, v: [1, 2], j: '{"a":[1]}' },
      { id: 2, name: null, price: 2, v: null, j: null },
    ]);
    expect(await rows(`SELECT id FROM ${t} WHERE json_get_int(j, 'b') IS NULL`)).toHaveLength(2);
  });

  it("takes columns in any order and parameters, and fills the others with null", async () => {
    const text = "it's; \\' DROP TABLE -- $1";
    expect(
      await changed(`INSERT INTO ${t} (v, id, name) VALUES ($1, $2, $3)`, [[1.5, -2], -7, text]),
    ).toBe(1);
    expect(await rows(`SELECT * FROM ${t}`)).toEqual([
      { id: -7, name: text, price: null, v: [1.5, -2], j: null },
    ]);
  });

  it("copies rows from the version that it reads at its start", async () => {
    await changed(`INSERT INTO ${t} (id, j) VALUES (1, '{"x": 1}'), (2, NULL)`);
    const first = await version();
    expect(await changed(`INSERT INTO ${t} SELECT id + 10, name, price, v, j FROM ${t}`)).toBe(2);
    expect(
      await changed(`INSERT INTO ${t} (id) SELECT id + 20 FROM ${t} FOR VERSION AS OF ${first}`),
    ).toBe(2);
    expect(await rows(`SELECT id, j FROM ${t} ORDER BY id`)).toEqual([
      { id: 1, j: '{"x":1}' },
      { id: 2, j: null },
      { id: 11, j: '{"x":1}' },
      { id: 12, j: null },
      { id: 21, j: null },
      { id: 22, j: null },
    ]);
  });

  it("streams a long result into one version", async () => {
    await joust.client.createTable(`${t}_source`, items(30_000));
    const before = await version();
    const text = "upper(name) || ' and more text to make the result longer than one part'";
    expect(
      await changed(
        `INSERT INTO ${t} (id, name) SELECT a.id * 10 + b.id, ${text} FROM ${t}_source a, (SELECT id FROM ${t}_source WHERE id < 10) b`,
      ),
    ).toBe(300_000);
    expect(await version()).toBe(before + 1);
    expect(
      await rows(`SELECT count(*) AS n, count(DISTINCT id) AS d, max(id) AS m FROM ${t}`),
    ).toEqual([{ n: 300_000, d: 300_000, m: 299_999 }]);
  });

  it("reports an error of the query in the middle of a long result, and writes nothing", async () => {
    await joust.client.createTable(`${t}_source`, items(10_000));
    await define(
      `CREATE TABLE ${t}_long AS SELECT a.id * 20 + b.id AS id, a.name FROM ${t}_source a, (SELECT id FROM ${t}_source WHERE id < 20) b`,
    );
    const before = await version();
    const answer = await send(
      `INSERT INTO ${t} (id, name) SELECT CASE WHEN id = 199999 THEN NULL ELSE id END, name || ' with a longer text' FROM ${t}_long`,
    );
    expectFailure(answer, 400, 13, /column `id` takes no null/);
    expect(await version()).toBe(before);
    expect(await joust.client.count(t)).toBe(0);
  });

  it("runs beside inserts of other clients", async () => {
    const one = (id: number) =>
      joust.client.insert(t, stream({ id: [type.i64, [BigInt(id)]], name: [type.text, ["x"]] }));
    await Promise.all([
      ...Array.from({ length: 20 }, (_, id) => one(id)),
      ...Array.from({ length: 20 }, (_, id) =>
        changed(`INSERT INTO ${t} (id, name) VALUES ($1, 'y')`, [100 + id]),
      ),
    ]);
    expect(
      await rows(`SELECT name, count(DISTINCT id) AS n FROM ${t} GROUP BY name ORDER BY name`),
    ).toEqual([
      { name: "x", n: 20 },
      { name: "y", n: 20 },
    ]);
  });

  it("answers as an Arrow stream", async () => {
    const answer = await joust.client.request("/v1/sql", {
      body: { query: `INSERT INTO ${t} (id) VALUES (1)` },
    });
    expect(answer.headers.get("content-type")).toBe(ARROW_STREAM);
    const table = tableFromIPC(answer.bytes);
    expect(table.schema.fields.map(String)).toEqual(["count: Int64"]);
    expect(table.toArray().map((row) => row.toJSON())).toEqual([{ count: 1n }]);
  });

  it.each<[string, number, number, RegExp]>([
    ["INSERT INTO none VALUES (1)", 404, 4, /"none" does not exist/],
    ["INSERT INTO none.t VALUES (1)", 404, 1, /"none" does not exist/],
    ["INSERT INTO T SELECT * FROM none", 404, 4, /"none" does not exist/],
    ["INSERT INTO T VALUES (1)", 400, 13, /expected: 5; name the columns/],
    ["INSERT INTO T (id, name) VALUES (1)", 400, 13, /columns in the query: 1, expected: 2/],
    ["INSERT INTO T (id, none) VALUES (1, 2)", 404, 12, /no column `none`; it has id, name/],
    ["INSERT INTO T (ID) VALUES (1)", 404, 12, /no column `ID`/],
    ["INSERT INTO T (id) VALUES ('x')", 400, 13, /`id` has the type Int64.*does not fit/],
    ["INSERT INTO T (id) VALUES (NULL)", 400, 13, /`id` takes no null/],
    ["INSERT INTO T (name) VALUES ('x')", 400, 20, /id/],
    ["INSERT INTO T (id, v) VALUES (1, [1, 2, 3])", 400, 13, /a list has 2 values/],
    ["INSERT INTO T (id, v) VALUES (1, X'00')", 400, 13, /add a cast/],
    ["INSERT INTO T (id, j) VALUES (1, '{')", 400, 13, /JSON/],
    ["INSERT INTO T (id) SELECT id FROM T RETURNING id", 400, 13, /RETURNING/],
    ["INSERT INTO T", 400, 13, /can't be read/],
  ])("reports an error for %s", async (query, status, code, detail) => {
    const before = await version();
    expectFailure(await send(query.replaceAll(/\bT\b/g, t)), status, code, detail);
    expect(await version()).toBe(before);
  });
});

describe("DELETE and UPDATE", () => {
  beforeEach(async () => {
    await changed(
      `INSERT INTO ${t} (id, name, v) VALUES (1, 'a', [1, 1]), (2, 'b', [2, 2]), (3, 'it''s', NULL)`,
    );
  });

  const ids = async (): Promise<number[]> =>
    (await rows(`SELECT id FROM ${t} ORDER BY id`)).map(({ id }) => id);

  it("count the rows that they change", async () => {
    expect(await changed(`UPDATE ${t} AS x SET price = x.id * 2, v = [9, 9] WHERE x.id > 1`)).toBe(
      2,
    );
    expect(await changed(`UPDATE ${t} SET name = upper("name")`)).toBe(3);
    expect(await rows(`SELECT id, name, price, v FROM ${t} ORDER BY id`)).toEqual([
      { id: 1, name: "A", price: null, v: [1, 1] },
      { id: 2, name: "B", price: 4, v: [9, 9] },
      { id: 3, name: "IT'S", price: 6, v: [9, 9] },
    ]);
    expect(await changed(`DELETE FROM ${t} WHERE ${t}.id = 7`)).toBe(0);
    expect(await changed(`DELETE FROM ${t} WHERE id IN (1, 2)`)).toBe(2);
    expect(await changed(`DELETE FROM ${t}`)).toBe(1);
    expect(await ids()).toEqual([]);
  });

  it("take columns of any name", async () => {
    await define(`CREATE TABLE ${t}_odd ("with space" INT, "Upper" TEXT, "order" INT, "a$b" INT)`);
    await changed(`INSERT INTO ${t}_odd VALUES (1, 'a', 2, 3), (2, 'b', 3, 4)`);
    expect(
      await changed(
        `UPDATE ${t}_odd SET "with space" = "with space" + 10, "Upper" = 'z' WHERE "Upper" = 'a'`,
      ),
    ).toBe(1);
    expect(await changed(`UPDATE ${t}_odd AS o SET o."a$b" = 9 WHERE o."order" = 3`)).toBe(1);
    expect(
      await changed(
        `MERGE INTO ${t}_odd AS "T" USING (VALUES (2, 'm')) AS s("with space", "Upper") ON "T"."with space" = s."with space" WHEN MATCHED THEN UPDATE SET *`,
      ),
    ).toBe(1);
    expect(await rows(`SELECT * FROM ${t}_odd ORDER BY "order"`)).toEqual([
      { "with space": 11, Upper: "z", order: 2, a$b: 3 },
      { "with space": 2, Upper: "m", order: 3, a$b: 9 },
    ]);
  });

  it("take parameters as values", async () => {
    for (const text of ["\\' OR true --", "' OR '1' = '1", "x'' OR true", "\\", "'"]) {
      expect(await changed(`DELETE FROM ${t} WHERE name = $1`, [text])).toBe(0);
    }
    expect(await changed(`UPDATE ${t} SET name = $2 WHERE name = $1`, ["it's", "\\'"])).toBe(1);
    expect(await changed(`DELETE FROM ${t} WHERE name = $1 AND id = $2`, ["\\'", 3])).toBe(1);
    expect(await changed(`UPDATE ${t} SET v = $1, price = $2 WHERE id = 1`, [[3, -4], -1.5])).toBe(
      1,
    );
    expect(await rows(`SELECT id, price, v FROM ${t} WHERE id = 1`)).toEqual([
      { id: 1, price: -1.5, v: [3, -4] },
    ]);
    expect(await ids()).toEqual([1, 2]);
  });

  it("read a literal with escapes as one value", async () => {
    expect(
      await changed(String.raw`DELETE FROM ${t} WHERE name = E'x\' OR true OR name = \''`),
    ).toBe(0);
    expect(await changed(String.raw`DELETE FROM ${t} WHERE name = E'it\'s'`)).toBe(1);
    expect(await ids()).toEqual([1, 2]);
  });

  it.each<[string, number, number, RegExp]>([
    ["DELETE FROM T WHERE none = 1", 404, 12, /none/],
    ["DELETE FROM T WHERE id IN (SELECT id FROM T)", 400, 13, /no subquery/],
    ["DELETE FROM T WHERE id = 1 LIMIT 1", 400, 13, /`LIMIT` where it should end/],
    ["DELETE FROM T WHERE id = 1; DELETE FROM T", 400, 13, /more than one statement/],
    ["DELETE FROM T WHERE", 400, 13, /can't be read/],
    ["DELETE FROM T WHERE id = 1) OR (true", 400, 13, /bracket|parenthes|end/],
    ["DELETE FROM T WHERE repeat(name, 1000000000) = 'x'", 400, 13, /`repeat`/],
    ["UPDATE T SET none = 1", 404, 12, /none/],
    ["UPDATE T SET id = 1, id = 2", 400, 13, /twice/],
    ["UPDATE T SET id = (SELECT 1)", 400, 13, /no subquery/],
    ["UPDATE T SET id = 1 FROM u", 400, 13, /`FROM` where it should end/],
    ["UPDATE T SET id = 'x'", 400, 13, /./],
    ["UPDATE none SET id = 1", 404, 4, /"none" does not exist/],
    ["DELETE FROM T FOR VERSION AS OF 1 WHERE id = 1", 400, 13, /FOR VERSION AS OF/],
  ])("report an error for %s", async (query, status, code, detail) => {
    expectFailure(await send(query.replaceAll(/\bT\b/g, t)), status, code, detail);
    expect(await ids()).toEqual([1, 2, 3]);
  });
});

describe("MERGE", () => {
  beforeEach(async () => {
    await changed(
      `INSERT INTO ${t} (id, name, price) VALUES (1, 'a', 1), (2, 'b', 2), (9, 'z', 9)`,
    );
    await define(
      `CREATE TABLE ${t}_new AS SELECT * FROM (VALUES (2, 'B', 20.0), (3, 'C', 30.0)) AS s(id, name, price)`,
    );
  });

  const all = () => rows(`SELECT id, name, price FROM ${t} ORDER BY id`);

  it("updates, inserts and deletes in one version", async () => {
    const before = await version();
    expect(
      await changed(
        `MERGE INTO ${t} USING ${t}_new AS s ON ${t}.id = s.id
         WHEN MATCHED AND s.price > ${t}.price THEN UPDATE SET *
         WHEN NOT MATCHED THEN INSERT *
         WHEN NOT MATCHED BY SOURCE AND ${t}.id > 5 THEN DELETE`,
      ),
    ).toBe(3);
    expect(await version()).toBe(before + 1);
    expect(await all()).toEqual([
      { id: 1, name: "a", price: 1 },
      { id: 2, name: "B", price: 20 },
      { id: 3, name: "C", price: 30 },
    ]);
  });

  it("reads its source from a query with parameters", async () => {
    expect(
      await changed(
        `MERGE INTO ${t} AS a USING (SELECT $1 AS id, $2 AS name) s ON (a.id = s.id) WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY TARGET THEN INSERT *`,
        [1, "it's"],
      ),
    ).toBe(1);
    expect((await all())[0]).toMatchObject({ id: 1, name: "it's" });
    expect(
      await changed(
        `MERGE INTO ${t} USING ${t}_new AS s ON ${t}.id = s.id WHEN NOT MATCHED BY SOURCE THEN DELETE`,
      ),
    ).toBe(2);
    expect(await all()).toEqual([{ id: 2, name: "b", price: 2 }]);
  });

  it.each<[string, number, number, RegExp]>([
    ["ON T.id = s.id WHEN MATCHED THEN DELETE", 406, 0, /UPDATE SET \*/],
    ["ON T.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name", 406, 0, /UPDATE SET \*/],
    ["ON T.id < s.id WHEN MATCHED THEN UPDATE SET *", 406, 0, /same name/],
    ["ON T.none = s.none WHEN MATCHED THEN UPDATE SET *", 404, 12, /none/],
    ["ON T.id = s.id", 400, 13, /WHEN/],
  ])("reports an error for %s", async (clauses, status, code, detail) => {
    const query = `MERGE INTO ${t} USING ${t}_new AS s ${clauses.replaceAll(/\bT\b/g, t)}`;
    expectFailure(await send(query), status, code, detail);
    expect(await all()).toHaveLength(3);
  });
});
