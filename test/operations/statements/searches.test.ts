/** Statements that write the rows that a search finds. */
import { beforeAll, describe, expect, it } from "vitest";
import { setupGrants } from "../../auth/grants/grant-callers.js";
import { sqlPort } from "../../flight/sql-port.js";
import { stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { FlightClient } from "../../harness/flight-client.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";
import { textIndex } from "../queries/text/text-tables.js";
import { statementClient } from "./statement-client.js";

const joust = setupServer();
const granted = setupGrants(joust);
const { send, rows, changed, define } = statementClient(joust);

const titles = ["cat", "dog", "cat dog", "bird", "fish"];

beforeAll(async () => {
  const { client } = joust;
  const numbers = Array.from({ length: 500 }, (_, n) => n);
  await client.createNamespace("ns");
  await client.createTable(
    "ns$films",
    stream({
      id: [type.i64, numbers.map(BigInt)],
      title: [type.text, numbers.map((n) => titles[n % 5])],
      year: [type.i32, numbers.map((n) => 2000 + n)],
      vector: [type.vector(2), numbers.map((n) => [n, 0])],
    }),
  );
  const index = { column: "vector", index_type: "IVF_FLAT", num_partitions: 4 };
  await client.ok("/v1/table/ns$films/create_index", index);
  await waitForIndex(client, "ns$films", "vector_idx");
  await textIndex(client, "ns$films", { column: "title" });
  await define("CREATE TABLE near (id BIGINT, title TEXT, distance FLOAT)");
});

const ids = async (table: string): Promise<number[]> =>
  (await rows(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id);
const search = "vector_search('ns.films', 'vector', [0, 0], 3, nprobes => 4)";

describe("the rows of a search", () => {
  it("are inserted, with their distances", async () => {
    const inserted = await changed(`INSERT INTO near SELECT id, title, _distance FROM ${search}`);
    expect(inserted).toBe(3);
    expect(await rows("SELECT * FROM near ORDER BY id")).toEqual([
      { id: 0, title: "cat", distance: 0 },
      { id: 1, title: "dog", distance: 1 },
      { id: 2, title: "cat dog", distance: 4 },
    ]);
  });

  it("are restricted by the WHERE before the search, and by one around it afterwards", async () => {
    await define(`CREATE TABLE later AS SELECT id FROM ${search} WHERE year >= 2300`);
    expect(await ids("later")).toEqual([300, 301, 302]);
    const around = `SELECT id FROM (SELECT * FROM ${search}) AS s WHERE year >= 2002`;
    await define(`CREATE OR REPLACE TABLE later AS ${around}`);
    expect(await ids("later")).toEqual([2]);
    const explained = await send(`CREATE TABLE x AS SELECT id FROM ${search} WHERE random() > 2`);
    expect(explained.status).toBe(200);
    expect(await ids("x")).toEqual([]);
  });

  it("of text and hybrid searches become tables", async () => {
    const text = "text_search('ns.films', 'fish', 2)";
    await define(`CREATE TABLE fish AS SELECT id, _score AS score FROM ${text} WHERE year < 2010`);
    expect(await ids("fish")).toEqual([4, 9]);
    const hybrid = "hybrid_search('ns.films', 'vector', [0, 0], 'bird', 5)";
    const both = `SELECT count(*) AS n FROM ${hybrid} h JOIN ${text} t USING (title)`;
    await define(`CREATE TABLE counted AS ${both}`);
    expect(await rows("SELECT count(*) AS n FROM counted")).toEqual([{ n: 1 }]);
  });

  it("take parameters, in the search and behind it", async () => {
    const statement =
      "INSERT INTO near SELECT id, $4, _distance FROM vector_search($1, 'vector', $2, $3) WHERE year > $5";
    expect(await changed(statement, ["ns.films", [9, 0], 2, "bound", 2400])).toBe(2);
    expect(await rows("SELECT id FROM near WHERE title = 'bound' ORDER BY id")).toEqual([
      { id: 401 },
      { id: 402 },
    ]);
    expectFailure(
      await send(statement, { parameters: ["ns.films", [9, 0], 2, "bound"] }),
      400,
      13,
      /\$5/,
    );
  });

  it("are merged, directly or from a subquery", async () => {
    await define("CREATE TABLE merged (id BIGINT, title TEXT)");
    const source = `(SELECT id, title FROM ${search}) AS s`;
    const merge = `MERGE INTO merged AS m USING ${source} ON m.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *`;
    expect(await changed(merge)).toBe(3);
    expect(await changed(merge)).toBe(3);
    expect(await ids("merged")).toEqual([0, 1, 2]);
    for (const named of ["AS s ON m.id = s.id", "ON m.id = vector_search.id"]) {
      const remove = `MERGE INTO merged AS m USING vector_search('ns.films', 'vector', [0, 0], 2) ${named} WHEN NOT MATCHED BY SOURCE THEN DELETE`;
      await changed(remove);
      expect(await ids("merged")).toEqual([0, 1]);
    }
    const all = `MERGE INTO merged AS m USING ${search} AS s ON m.id = s.id WHEN NOT MATCHED THEN INSERT *`;
    expectFailure(await send(all), 404, 12, /no column/);
  });

  it("may be of the table that gets them, or of an old version", async () => {
    await define("CREATE TABLE own AS SELECT id, vector FROM ns.films WHERE id < 4");
    const nearest = "SELECT id + 100, vector FROM vector_search('own', 'vector', [0, 0], 2)";
    expect(await changed(`INSERT INTO own ${nearest}`)).toBe(2);
    const old = "vector_search('own FOR VERSION AS OF 1', 'vector', [0, 0], 100)";
    expect(await changed(`INSERT INTO own SELECT id + 200, vector FROM ${old}`)).toBe(4);
    expect(await ids("own")).toEqual([0, 1, 2, 3, 100, 101, 200, 201, 202, 203]);
  });

  it("arrive over Flight SQL", async () => {
    const flight = new FlightClient(`http://127.0.0.1:${sqlPort(joust.server)}`, joust.server.key);
    const done = await flight.sql(`INSERT INTO near SELECT id, 'flight', 0 FROM ${search}`);
    expect(done.toArray().map(String)).toEqual(['{"count": 3}']);
    await flight.sql(`CREATE TABLE flown AS SELECT id FROM ${search}`);
    expect(await ids("flown")).toEqual([0, 1, 2]);
    flight.close();
  });
});

describe("a search in a statement that writes", () => {
  it("needs select on the searched table", async () => {
    const statement = `INSERT INTO near SELECT id, title, 0 FROM ${search}`;
    const writes = { "table:near": ["insert"] } as const;
    const blind = await granted.caller(writes);
    expectFailure(await send(statement, { client: blind.client }), 404, 1, /"ns" does not exist/);
    const seeing = await granted.caller({ ...writes, "table:ns$films": ["update"] });
    expectFailure(
      await send(statement, { client: seeing.client }),
      403,
      15,
      /needs the privilege select on it/,
    );
    const reader = await granted.caller({ ...writes, "table:ns$films": ["select"] });
    const done = await send(statement, { client: reader.client });
    expect(done.json.rows).toEqual([{ count: 3 }]);
    const other = `INSERT INTO later SELECT id FROM ${search}`;
    expectFailure(await send(other, { client: reader.client }), 404, 4);
  });

  it.each<[string, number, number, RegExp]>([
    [
      "INSERT INTO near (id) SELECT id FROM vector_search('none', 'vector', [1, 2])",
      404,
      4,
      /none/,
    ],
    [
      "INSERT INTO near (id) SELECT id FROM vector_search('ns.films', 'title', [1])",
      400,
      13,
      /no vectors/,
    ],
    [
      "INSERT INTO near (id) SELECT id FROM vector_search('ns.films', 'vector', [1])",
      400,
      13,
      /dim/,
    ],
    [
      "INSERT INTO near (id) SELECT none FROM vector_search('ns.films', 'vector', [1, 2])",
      404,
      12,
      /none/,
    ],
    [
      "CREATE TABLE y AS SELECT * FROM vector_search('ns.films', 'vector', [1, 2])",
      400,
      13,
      /`_distance` is no column name/,
    ],
    [
      "INSERT INTO near (id) VALUES (vector_search('ns.films', 'vector', [1, 2]))",
      400,
      13,
      /a search is a table/,
    ],
    [
      "INSERT INTO near vector_search('ns.films', 'vector', [1, 2])",
      400,
      13,
      /a search is a table/,
    ],
    [
      "DELETE FROM near WHERE id = vector_search('ns.films', 'vector', [1, 2])",
      400,
      13,
      /a search is a table/,
    ],
    [
      "UPDATE near SET id = vector_search('ns.films', 'vector', [1, 2])",
      400,
      13,
      /a search is a table/,
    ],
    [
      "DELETE FROM near WHERE id IN (SELECT id FROM vector_search('ns.films', 'vector', [1, 2]))",
      400,
      13,
      /no subquery/,
    ],
  ])("reports an error for %.90s", async (query, status, code, detail) => {
    expectFailure(await send(query), status, code, detail);
  });
});
