import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../../harness/arrow.js";
import { createKey } from "../../../harness/cli.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { waitForIndex } from "../../../harness/indexes.js";
import { setupServer } from "../../../harness/setup-server.js";
import { textIndex } from "../text/text-tables.js";
import { sqlClient } from "./sql-client.js";

const joust = setupServer();
const { rows, arrow, plan, send } = sqlClient(joust);

const titles = ["cat", "dog", "cat dog", "bird", "cat", "dog", "cat", "bird", "cat", "fish"];

/** Row n is the point (n, 0), of the year 2000 + n. */
const films = (count: number) => {
  const numbers = Array.from({ length: count }, (_, n) => n);
  return stream({
    id: [type.i64, numbers.map(BigInt)],
    title: [type.text, numbers.map((n) => titles[n % 10])],
    year: [type.i32, numbers.map((n) => 2000 + n)],
    vector: [type.vector(2), numbers.map((n) => [n, 0])],
  });
};

beforeAll(async () => {
  const { client } = joust;
  await client.createTable("films", films(10));
  await client.createNamespace("ns");
  await client.createTable("ns$many", films(512));
  await client.ok("/v1/table/ns$many/create_index", {
    column: "vector",
    index_type: "IVF_FLAT",
    num_partitions: 4,
  });
  await waitForIndex(client, "ns$many", "vector_idx");
  await textIndex(client, "ns$many", { column: "title" });
  await client.createTable(
    "people",
    stream({ film: [type.i64, [0n, 1n, 1n, 7n]], name: [type.text, ["ann", "bob", "cy", "di"]] }),
  );
});

const ids = async (sql: string, parameters?: unknown[]) =>
  (await rows(sql, parameters && { parameters })).map((row) => row.id);

describe("a search in SQL", () => {
  it("is a table with the columns of the searched one and the results", async () => {
    const table = await arrow("SELECT * FROM vector_search('films', 'vector', [3.2, 0], 2)");
    expect(table.schema.names).toEqual(["id", "title", "year", "vector", "_distance"]);
    expect(table.toArray().map((row) => Number(row.id))).toEqual([3, 4]);
    const hybrid = await arrow(
      "SELECT * FROM hybrid_search('ns.many', 'vector', [0, 0], 'bird', 3)",
    );
    expect(hybrid.schema.names.slice(4)).toEqual(["_distance", "_score", "_relevance_score"]);
    expect(hybrid.numRows).toBe(3);
    expect(
      await rows("SELECT title, _score > 0 AS scored FROM text_search('ns.many', 'fish', 1)"),
    ).toEqual([{ title: "fish", scored: true }]);
    expect(
      await rows("SELECT count(*) AS n FROM vector_search('films', 'vector', [0, 0])"),
    ).toEqual([{ n: 10 }]);
  });

  it("takes its vector, text, table and number from parameters", async () => {
    expect(
      await ids("SELECT id FROM vector_search($3, 'vector', $1, $2) WHERE year > $4", [
        [0, 0],
        2,
        "films",
        2004,
      ]),
    ).toEqual([5, 6]);
    expect(await ids("SELECT id FROM text_search('ns.many', $1, 1)", ["fish"])).toEqual([9]);
    // It ends neither the literal nor the condition.
    expect(
      await ids("SELECT id FROM vector_search('films', 'vector', [0, 0], 2) WHERE title != $1", [
        "\\' OR true --",
      ]),
    ).toEqual([0, 1]);
  });

  it("finds the nearest rows among those that its WHERE selects", async () => {
    const nearest = "vector_search('films', 'vector', [0, 0], 3)";
    expect(await ids(`SELECT id FROM ${nearest} WHERE year >= 2005`)).toEqual([5, 6, 7]);
    expect(
      await ids(`SELECT s.id FROM ${nearest} AS s WHERE s.year >= 2005 AND _distance < 36`),
    ).toEqual([5]);
    // One condition, of which a part is a result: it applies to the rows found.
    expect(await ids(`SELECT id FROM ${nearest} WHERE year >= 2005 OR _distance > 2`)).toEqual([2]);
    expect(await ids(`SELECT id FROM (SELECT * FROM ${nearest}) AS s WHERE year >= 2002`)).toEqual([
      2,
    ]);
    expect(
      await ids(`WITH s AS (SELECT * FROM ${nearest}) SELECT id FROM s WHERE year > 2001`),
    ).toEqual([2]);
    expect(
      await ids(`SELECT id FROM ${nearest} WHERE id IN (SELECT film FROM people) ORDER BY id`),
    ).toEqual([0, 1]);
  });

  it("is not restricted by conditions on other tables", async () => {
    const nearest = "vector_search('films', 'vector', [0, 0], 3)";
    expect(
      await rows(
        `SELECT s.id, p.name FROM ${nearest} s JOIN people p ON s.id = p.film WHERE p.film >= 1 ORDER BY name`,
      ),
    ).toEqual([
      { id: 1, name: "bob" },
      { id: 1, name: "cy" },
    ]);
    expect(
      await rows(
        `SELECT p.name FROM people p LEFT JOIN ${nearest} s ON s.id = p.film WHERE s.id IS NULL`,
      ),
    ).toEqual([{ name: "di" }]);
    expect(
      await rows(
        `SELECT s.id, p.name FROM ${nearest} s LEFT JOIN people p ON s.id = p.film WHERE s.year > 2006 ORDER BY s.id`,
      ),
    ).toEqual([
      { id: 7, name: "di" },
      { id: 8, name: null },
      { id: 9, name: null },
    ]);
  });

  it("is grouped, sorted, joined with another search and inserted into other queries", async () => {
    expect(
      await rows(
        "SELECT title, count(*) AS n, max(_distance) AS far FROM vector_search('films', 'vector', [0, 0], 6) GROUP BY title ORDER BY n DESC, title LIMIT 2",
      ),
    ).toEqual([
      { title: "cat", n: 2, far: 16 },
      { title: "dog", n: 2, far: 25 },
    ]);
    expect(
      await ids(
        "SELECT a.id FROM vector_search('films', 'vector', [0, 0], 5) a JOIN vector_search('films', 'vector', [5, 0], 5) b USING (id) ORDER BY a.id",
      ),
    ).toEqual([3, 4]);
    expect(
      await ids(
        "SELECT id FROM films WHERE id IN (SELECT id FROM vector_search('films', 'vector', [8, 0], 3)) ORDER BY id",
      ),
    ).toEqual([7, 8, 9]);
    expect(
      await ids(
        "SELECT id FROM vector_search('films', 'vector', [8, 0], 1) UNION ALL SELECT id FROM vector_search('films', 'vector', [1, 0], 1) ORDER BY id",
      ),
    ).toEqual([1, 8]);
  });

  it("reads versions, tags, and rows that were just written", async () => {
    const { client } = joust;
    await client.createTable("history", films(3));
    await client.ok("/v1/table/history/tags/create", { tag: "first", version: 1 });
    await client.ok("/v1/table/history/delete", { predicate: "id = 0" });
    const nearest = (name: string) =>
      ids("SELECT id FROM vector_search($1, 'vector', [0, 0], 1)", [name]);
    expect(await nearest("history")).toEqual([1]);
    expect(await nearest("history FOR VERSION AS OF 1")).toEqual([0]);
    expect(await nearest("public.history FOR VERSION AS OF 'first'")).toEqual([0]);
    expect(
      await rows(
        "SELECT (SELECT id FROM vector_search('history', 'vector', [0, 0], 1)) AS now, (SELECT id FROM vector_search('history FOR VERSION AS OF 1', 'vector', [0, 0], 1)) AS old",
      ),
    ).toEqual([{ now: 1, old: 0 }]);
  });

  it("sorts by distance functions without a search", async () => {
    const by = (distance: string) => ids(`SELECT id FROM films ORDER BY ${distance}, id LIMIT 2`);
    expect(await by("array_distance(vector, [4.2, 0])")).toEqual([4, 5]);
    expect(await by("list_distance(vector, [4.2, 0])")).toEqual([4, 5]);
    expect(await by("dot_product(vector, [1, 0]) DESC")).toEqual([9, 8]);
    expect(await by("-inner_product(vector, [1, 0])")).toEqual([9, 8]);
    const [{ d }] = await rows(
      "SELECT cosine_distance(vector, [1, 1]) AS d FROM films WHERE id = 2",
    );
    expect(d).toBeCloseTo(1 - Math.SQRT1_2, 6);
  });
});

describe("EXPLAIN of a search", () => {
  const explained = (table: string, query: object) =>
    joust.client.ok(`/v1/table/${table}/explain_plan`, { query });

  it("shows the strategy in the words of explain_plan", async () => {
    const near = { k: 2, vector: { single_vector: [0, 0] }, nprobes: 2, filter: "(year > 2003)" };
    for (const [id, name, step] of [
      ["films", "films", /KNN/],
      ["ns$many", "ns.many", /ANN/],
    ] as const) {
      const text = await plan(
        `SELECT title FROM vector_search('${name}', 'vector', [0, 0], 2, nprobes => 2) WHERE year > 2003`,
      );
      expect(text).toMatch(/SearchExec: vector_search\n/);
      expect(text).toMatch(step);
      const search = text.split("\n").map((line: string) => line.trim());
      const operation: string[] = (await explained(id, near)).split("\n");
      const steps = operation.map((line) => line.trim()).filter((line) => /KNN|ANN/.test(line));
      expect(steps.length).toBeGreaterThan(0);
      for (const line of steps) expect(search).toContain(line);
      expect(text).not.toMatch(/\/tmp\//);
    }
    const hybrid = await plan("SELECT id FROM hybrid_search('ns.many', 'vector', [0, 0], 'cat')");
    expect(hybrid).toMatch(/Fuse: reciprocal rank/);
    expect(hybrid).toMatch(/SearchExec: hybrid_search/);
  });

  it("reads only the selected columns", async () => {
    const { json } = await send({
      query: "EXPLAIN SELECT title FROM vector_search('films', 'vector', [0, 0], 2)",
    });
    expect(json.rows[0].plan).toMatch(/vector_search projection=\[title\]/);
  });
});

describe("an invalid search is rejected", () => {
  const vector = (table: string, column: string, numbers: string, more = "") =>
    `SELECT id FROM vector_search('${table}', '${column}', ${numbers}${more})`;

  it.each<[string, number, number, RegExp]>([
    [vector("none", "vector", "[1, 2]"), 404, 4, /"none" does not exist/],
    [vector("none.films", "vector", "[1, 2]"), 404, 1, /"none" does not exist/],
    [vector("information_schema.tables", "vector", "[1, 2]"), 400, 13, /information_schema/],
    [vector("films", "none", "[1, 2]"), 404, 12, /none/],
    [vector("films", "title", "[1, 2]"), 400, 13, /vector_search: .*holds no vectors/],
    [vector("films", "vector", "[1, 2, 3]"), 400, 13, /query dim\(3\)/],
    [vector("films", "vector", "[[1, 2], [3, 4]]"), 400, 13, /takes one vector/],
    [vector("films", "vector", "NULL"), 400, 13, /vector is null/],
    [vector("films", "vector", "[1, NULL]"), 400, 13, /list of numbers/],
    [vector("films", "vector", "[1, 2], 0"), 400, 13, /from 1 to 10000/],
    [vector("films", "vector", "[1, 2], 100000"), 400, 13, /from 1 to 10000/],
    [vector("films", "vector", "[1, year]"), 400, 13, /constants/],
    [vector("films", "vector", "[1, 2]", ", distance_type => 'far'"), 400, 13, /far/],
    [
      vector("films", "vector", "[1, 2]", ", minimum_nprobes => 5, maximum_nprobes => 2"),
      400,
      13,
      /above/,
    ],
    [vector("films FOR VERSION AS OF 99", "vector", "[1, 2]"), 404, 11, /99/],
    [vector("films FOR VERSION AS OF ''none''", "vector", "[1, 2]"), 404, 8, /none/],
    [vector("films; DROP TABLE films", "vector", "[1, 2]"), 400, 13, /./],
    ["SELECT id FROM text_search('films', 'cat')", 400, 13, /index/i],
    ["SELECT id FROM text_search('films', 'cat', columns => 'none')", 404, 12, /none/],
    ["SELECT id FROM text_search('films', NULL)", 400, 13, /words/],
    ["SELECT none FROM vector_search('films', 'vector', [1, 2])", 404, 12, /none/],
    ["SELECT _score FROM vector_search('films', 'vector', [1, 2])", 404, 12, /_score/],
    ["SELECT id FROM vector_search('films', 'vector', [1, 2]) WHERE year > 'x'", 400, 13, /./],
    [
      "SELECT id FROM vector_search('films', 'vector', [1, 2]) WHERE getenv(title) = 'x'",
      400,
      13,
      /getenv/,
    ],
    [
      "SELECT id FROM vector_search('films', 'vector', [1, 2]) WHERE arrow_cast(year, 'Float16') > 1 AND CAST(id AS REAL) > 1",
      400,
      13,
      /vector_search: the WHERE restricts .*REAL.* subquery/,
    ],
    [
      "SELECT s.id FROM vector_search('films', 'vector', [1, 2]) s, films f WHERE id = 1",
      400,
      13,
      /ambiguous/i,
    ],
    [
      `SELECT 1 FROM ${Array(9).fill("vector_search('films', 'vector', [1, 2])").join(" CROSS JOIN ")}`,
      400,
      13,
      /more than 8 searches/,
    ],
  ])("for %.110s", async (query, status, code, detail) => {
    expectFailure(await send({ query }), status, code, detail);
  });

  it("for a vector that is too long, and for one that is no list", async () => {
    const query = "SELECT id FROM vector_search('films', 'vector', $1)";
    for (const [parameter, detail] of [
      [Array(70_000).fill(0.5), /65536/],
      ["[1, 2]", /list of numbers/],
      [null, /null/],
    ] as const) {
      expectFailure(await send({ query, parameters: [parameter] }), 400, 13, detail);
    }
  });

  it("in the query of a materialized view", async () => {
    const said = /vector_search: the query of a materialized view cannot search/;
    for (const more of ["", ", k => 2"]) {
      const query = `SELECT id FROM vector_search('films', 'vector', [1, 2]${more})`;
      const answer = await joust.client.post("/v1/materialized_view/near/create", { query });
      expectFailure(answer, 400, 13, said);
      const statement = `CREATE MATERIALIZED VIEW near AS ${query}`;
      expectFailure(await send({ query: statement }), 400, 13, said);
    }
    expectFailure(await send({ query: "SELECT * FROM near" }), 404, 4);
  });

  it("for a caller without a key", async () => {
    const query = "SELECT id FROM vector_search('films', 'vector', [1, 2], 1)";
    expect((await send({ query }, undefined, joust.client.withKey(""))).status).toBe(401);
    const { key } = await createKey(joust.root, "read");
    expect((await send({ query }, undefined, joust.client.withKey(key))).json.rows).toEqual([
      { id: 1 },
    ]);
  });
});
