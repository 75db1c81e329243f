import { tableFromIPC } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { waitForIndex } from "../../../harness/indexes.js";
import { setupServer } from "../../../harness/setup-server.js";
import { viewClient } from "../../views/view-client.js";
import { sqlClient } from "./sql-client.js";

const joust = setupServer();
const { sendOk, arrow, send, plan, rows } = sqlClient(joust);
const { view } = viewClient(joust);

beforeAll(async () => {
  const { client } = joust;
  await client.createNamespace("ns");
  await client.createNamespace("ns$in");
  await client.createNamespace("ns$in$deep");
  await client.createTable("t", items(100));
  await client.createTable("ns$Items", items(50));
  await client.createTable("ns$in$v", items(5));
  await client.createTable("ns$in$deep$w", items(3));
  await client.createTable(
    "prices",
    stream({ category: [type.text, ["c0", "c1", null]], factor: [type.f64, [10, 100, 1000]] }),
  );
});

describe("an SQL statement", () => {
  it("filters, sorts and computes", async () => {
    expect(
      await rows(
        "SELECT id, upper(name) AS n, price * 2 AS p FROM t WHERE id < 3 ORDER BY id DESC",
      ),
    ).toEqual([
      { id: 2, n: "ITEM 2", p: 2 },
      { id: 1, n: "ITEM 1", p: 1 },
      { id: 0, n: "ITEM 0", p: 0 },
    ]);
  });

  it("groups, joins, nests, unions and ranks", async () => {
    expect(
      await rows(
        "SELECT category, count(*) AS n, max(price) AS top FROM t GROUP BY category HAVING max(price) > 48.5 ORDER BY 1",
      ),
    ).toEqual([
      { category: "c3", n: 20, top: 49 },
      { category: "c4", n: 20, top: 49.5 },
    ]);
    expect(
      await rows(
        "SELECT t.id, t.price * p.factor AS cost FROM t JOIN prices p ON t.category = p.category WHERE t.id < 10 ORDER BY t.id",
      ),
    ).toEqual([
      { id: 0, cost: 0 },
      { id: 1, cost: 50 },
      { id: 5, cost: 25 },
      { id: 6, cost: 300 },
    ]);
    expect(
      await rows(
        "WITH big AS (SELECT id FROM t WHERE price > 40) SELECT name FROM t WHERE id IN (SELECT id FROM big) AND id > 97 UNION ALL SELECT 'none' ORDER BY name",
      ),
    ).toEqual([{ name: "item 98" }, { name: "item 99" }, { name: "none" }]);
    expect(
      await rows(
        "SELECT id, row_number() OVER (PARTITION BY category ORDER BY id DESC) AS place, sum(id) OVER (ORDER BY id) AS total FROM t WHERE id < 7 ORDER BY id",
      ),
    ).toEqual(
      [0, 1, 2, 3, 4, 5, 6].map((id) => ({
        id,
        place: id < 2 ? 2 : 1,
        total: (id * (id + 1)) / 2,
      })),
    );
    expect(
      await rows(
        "SELECT count(*) AS n FROM t WHERE NOT EXISTS (SELECT 1 FROM prices p WHERE p.category = t.category)",
      ),
    ).toEqual([{ n: 60 }]);
  });

  it("reads tables of nested namespaces under every form of the name", async () => {
    for (const name of ["ns.Items", '"ns$Items"', '"ns"."Items"', "`ns`.`Items`"]) {
      expect(await rows(`SELECT count(*) AS n FROM ${name}`)).toEqual([{ n: 50 }]);
    }
    for (const name of ['ns."in".v', '"ns$in".v', '"ns$in$v"']) {
      expect(await rows(`SELECT count(*) AS n FROM ${name}`)).toEqual([{ n: 5 }]);
    }
    for (const name of ['ns."in".deep.w', '"ns$in$deep".w', '"ns$in$deep$w"']) {
      expect(await rows(`SELECT count(*) AS n FROM ${name}`)).toEqual([{ n: 3 }]);
    }
    expect(await rows("SELECT count(*) AS n FROM public.t")).toEqual([{ n: 100 }]);
    expect(await rows('SELECT count(*) AS n FROM "".t')).toEqual([{ n: 100 }]);
    expect(await rows('SELECT max(w.id) AS n FROM ns."in".deep.w')).toEqual([{ n: 2 }]);
  });

  it("reads a table under two names", async () => {
    for (const from of ['t a JOIN "".t b', 't JOIN "".t b', 'public.t a JOIN "".t b']) {
      expect(await rows(`SELECT count(*) AS n FROM ${from} USING (id)`)).toEqual([{ n: 100 }]);
    }
    const nested = 'SELECT count(*) AS n FROM ns.Items a JOIN "".ns.Items b USING (id)';
    expect(await rows(nested)).toEqual([{ n: 50 }]);
    const unaliased = 'SELECT count(*) AS n FROM t JOIN "".t USING (id)';
    expectFailure(await send({ query: unaliased }), 400, 13, /alias, such as `t AS a`/);
    const internal = await send({ query: 'SELECT * FROM "/".t' });
    expectFailure(internal, 404, 1, /does not exist/);
  });

  it("resolves public to a namespace of that name before the root", async () => {
    await joust.client.createNamespace("public");
    await joust.client.createTable("public$t", items(7));
    expect(await rows("SELECT count(*) AS n FROM public.t")).toEqual([{ n: 7 }]);
    expect(
      await rows(
        "SELECT table_schema AS s FROM information_schema.tables WHERE table_name = 't' ORDER BY 1",
      ),
    ).toEqual([{ s: "" }, { s: "public" }]);
    await joust.client.ok("/v1/namespace/public/drop", { behavior: "Cascade" });
    expect(await rows("SELECT count(*) AS n FROM public.t")).toEqual([{ n: 100 }]);
  });

  it("reads materialized views like tables", async () => {
    await view("cheap", "SELECT id, price FROM t WHERE price < 2");
    expect(await rows("SELECT count(*) AS n, max(price) AS top FROM cheap")).toEqual([
      { n: 4, top: 1.5 },
    ]);
  });

  it("sees every earlier write", async () => {
    await joust.client.createTable("fresh", items(1));
    for (let n = 1; n < 6; n++) {
      await joust.client.insert("fresh", items(1, { from: n }));
      expect(await rows("SELECT count(*) AS n FROM fresh")).toEqual([{ n: n + 1 }]);
    }
    await joust.client.ok("/v1/table/fresh/delete", { predicate: "id < 4" });
    expect(await rows("SELECT id FROM fresh ORDER BY id")).toEqual([{ id: 4 }, { id: 5 }]);
  });

  it("reads versions and tags beside the latest version", async () => {
    const { client } = joust;
    await client.createTable("history", items(10));
    await client.insert("history", items(10, { from: 10 }));
    await client.ok("/v1/table/history/tags/create", { tag: "first", version: 1 });
    expect(
      await rows(
        "SELECT (SELECT count(*) FROM history) AS now, (SELECT count(*) FROM history FOR VERSION AS OF 1) AS one, (SELECT count(*) FROM public.history FOR VERSION AS OF 'first') AS tagged",
      ),
    ).toEqual([{ now: 20, one: 10, tagged: 10 }]);
    expect(
      await rows(
        "SELECT count(*) AS n FROM history b LEFT JOIN history FOR VERSION AS OF 1 AS a ON a.id = b.id WHERE a.id IS NULL",
      ),
    ).toEqual([{ n: 10 }]);
    expect(await rows("SELECT max(history.id) AS m FROM history FOR VERSION AS OF 1")).toEqual([
      { m: 9 },
    ]);
    const none = (at: string) => send({ query: `SELECT 1 FROM history FOR VERSION AS OF ${at}` });
    expectFailure(await none("99"), 404, 11);
    expectFailure(await none("'none'"), 404, 8);
  });

  it("binds parameters to question marks in their order", async () => {
    expect(await rows("SELECT ? AS a, ? AS b, '?' AS c", { parameters: [1, "x"] })).toEqual([
      { a: 1, b: "x", c: "?" },
    ]);
  });

  it("binds parameters as values", async () => {
    const name = "it's; DROP TABLE t --";
    await joust.client.createTable("named", stream({ name: [type.text, [name, "b"]] }));
    expect(await rows("SELECT name FROM named WHERE name = $1", { parameters: [name] })).toEqual([
      { name },
    ]);
    expect(
      await rows(
        "SELECT id FROM t WHERE id BETWEEN $1 AND $2 AND price < $3 AND category = $4 LIMIT $5",
        {
          parameters: [5, 20, 7.5, "c0", 10],
        },
      ),
    ).toEqual([{ id: 5 }, { id: 10 }]);
    expect(
      await rows("SELECT $1 AS a, $2 AS b, $1 IS NULL AS c, $3 AS d", {
        parameters: [null, true, [1, 2]],
      }),
    ).toEqual([{ a: null, b: true, c: true, d: [1, 2] }]);
    const { text } = await sendOk(
      '{"query":"SELECT $1 AS a, $2 AS b","parameters":[9223372036854775807,-9223372036854775808]}' as unknown as object,
    );
    expect(text).toContain('{"a":"9223372036854775807","b":"-9223372036854775808"}');
  });

  it("returns at most the requested number of rows", async () => {
    expect(await rows("SELECT id FROM t ORDER BY id", { limit: 2 })).toEqual([
      { id: 0 },
      { id: 1 },
    ]);
    expect(await rows("SELECT id FROM t LIMIT 1", { limit: 5 })).toHaveLength(1);
    expect(await rows("SELECT id FROM t", { limit: 0 })).toEqual([]);
    expect((await arrow("SELECT id FROM t", { limit: 7 })).numRows).toBe(7);
  });

  it("returns the first format of Accept that is supported", async () => {
    const query = "SELECT id, name FROM t WHERE id < 2 ORDER BY id";
    const of = async (accept: string) => {
      const { headers, bytes, text } = await sendOk({ query }, accept);
      return { type: headers.get("content-type"), bytes, text };
    };
    for (const accept of ["*/*", "application/vnd.apache.arrow.stream", "text/html"]) {
      const { type, bytes } = await of(accept);
      expect(type).toBe("application/vnd.apache.arrow.stream");
      expect(tableFromIPC(bytes).numRows).toBe(2);
    }
    const file = await of("application/vnd.apache.arrow.file, application/json");
    expect(file.type).toBe("application/vnd.apache.arrow.file");
    expect(file.text.slice(0, 6)).toBe("ARROW1");
    expect(tableFromIPC(file.bytes).numRows).toBe(2);
    expect(await of("Application/JSON; q=1, */*")).toMatchObject({
      type: "application/json",
      text: '{"columns":[{"name":"id","type":"Int64"},{"name":"name","type":"Utf8"}],"rows":[{"id":0,"name":"item 0"},{"id":1,"name":"item 1"}]}',
    });
    expect(await of("application/x-ndjson")).toMatchObject({
      type: "application/x-ndjson",
      text: '{"id":0,"name":"item 0"}\n{"id":1,"name":"item 1"}\n',
    });
    expect(await of("text/csv")).toMatchObject({
      type: "text/csv",
      text: "id,name\r\n0,item 0\r\n1,item 1\r\n",
    });
  });
});

describe("information_schema", () => {
  it("lists namespaces, tables and columns of the catalog", async () => {
    expect(await rows("SELECT * FROM information_schema.schemata ORDER BY schema_name")).toEqual(
      ["ns", "ns$in", "ns$in$deep", "public"].map((schema_name) => ({
        catalog_name: "joust",
        schema_name,
      })),
    );
    expect(
      await rows(
        "SELECT * FROM INFORMATION_SCHEMA.TABLES WHERE table_schema LIKE 'ns%' ORDER BY table_schema",
      ),
    ).toEqual(
      [
        ["ns", "Items"],
        ["ns$in", "v"],
        ["ns$in$deep", "w"],
      ].map(([table_schema, table_name]) => ({
        table_catalog: "joust",
        table_schema,
        table_name,
        table_type: "BASE TABLE",
      })),
    );
    expect(
      await rows(
        "SELECT column_name, ordinal_position AS at, is_nullable AS n, data_type FROM information_schema.columns WHERE table_schema = 'ns$in' AND table_name = 'v' ORDER BY at",
      ),
    ).toEqual([
      { column_name: "id", at: 1, n: "YES", data_type: "Int64" },
      { column_name: "name", at: 2, n: "YES", data_type: "Utf8" },
      { column_name: "category", at: 3, n: "YES", data_type: "Utf8" },
      { column_name: "price", at: 4, n: "YES", data_type: "Float64" },
      { column_name: "vector", at: 5, n: "YES", data_type: "FixedSizeList(8 x Float32)" },
    ]);
    expect(
      await rows(
        "SELECT count(DISTINCT table_name) > 4 AS many FROM information_schema.columns WHERE 'v' = table_name OR table_name <> 'x'",
      ),
    ).toEqual([{ many: true }]);
    expectFailure(
      await send({ query: "SELECT * FROM information_schema.views" }),
      404,
      4,
      /schemata, tables/,
    );
  });

  it("omits a table that is only declared", async () => {
    await joust.client.ok("/v1/table/declared/declare", {});
    expect(
      await rows("SELECT table_name FROM information_schema.tables WHERE table_name = 'declared'"),
    ).toHaveLength(1);
    expect(
      await rows("SELECT 1 FROM information_schema.columns WHERE table_name = 'declared'"),
    ).toEqual([]);
    expectFailure(await send({ query: "SELECT 1 FROM declared" }), 404, 4, /no version yet/);
  });
});

describe("an SQL plan", () => {
  it("pushes filters, columns and limits into Lance's scan and uses a scalar index", async () => {
    await joust.client.createTable("indexed", items(1_000));
    const wanted = "SELECT name FROM indexed WHERE id = 5";
    expect(await plan(wanted)).not.toContain("ScalarIndexQuery");
    await joust.client.ok("/v1/table/indexed/create_scalar_index", {
      column: "id",
      index_type: "BTREE",
    });
    await waitForIndex(joust.client, "indexed", "id_idx");
    const result = await plan(wanted);
    expect(result).toContain("ScalarIndexQuery: query=[id = 5]@id_idx(BTree)");
    expect(result).toMatch(/LanceRead: uri=indexed\/data, projection=\[name\]/);
    expect(result).not.toContain("FilterExec");
    expect(result).not.toContain(joust.root);
    expect(await rows(wanted)).toEqual([{ name: "item 5" }]);
    expect(await plan("SELECT id FROM indexed LIMIT 5")).toContain("range_before=Some(0..5)");
    expect(await plan("SELECT id FROM indexed WHERE price > 3")).toContain(
      "full_filter=price > Float64(3)",
    );
    const verbose = await rows("EXPLAIN VERBOSE SELECT id FROM indexed");
    expect(verbose[1].plan).toContain("id:Int64");
    // Both sides of a join.
    const joined = await plan(
      "SELECT a.name FROM indexed a JOIN t ON a.id = t.id WHERE a.id = 7 AND t.price > 1",
    );
    expect(joined).toContain("ScalarIndexQuery: query=[id = 7]@id_idx(BTree)");
    expect(joined).toMatch(/uri=t\/data.*full_filter=.*price > Float64\(1\)/);
  });
});
