import { describe, expect, it } from "vitest";
import { emptyStream, stream, type } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { setupServer } from "../../harness/setup-server.js";
import { search, textIndex, words } from "./text/text-tables.js";

const joust = setupServer({ args: ["--maintenance", "off"] });

/** Repetitions of a query that fill the caches. */
const often = 14;

/** The values of a column in all rows after many queries, and the column's type. */
async function asked(id: string, column: string, query: object = {}): Promise<[string, unknown[]]> {
  let last: [string, unknown[]] = ["", []];
  for (let time = 0; time < often; time++) {
    const columns = { column_names: [column] };
    const rows = await joust.client.query(id, { k: 100, vector: {}, columns, ...query });
    const values = [...(rows.getChild(column) ?? [])];
    const now: [string, unknown[]] = [`${rows.getChild(column)?.type}`, values];
    if (time > 0) expect(now).toEqual(last);
    last = now;
  }
  return last;
}

describe("a column with only null values", () => {
  it("can be dropped and added again with another type", async () => {
    const { client } = joust;
    const ids = Array.from({ length: 40 }, (_, id) => BigInt(id));
    await client.createTable("again", stream({ id: [type.i64, ids] }));
    const nulls = Array(40).fill(null);
    for (const [name, added, written] of [
      ["note", type.text, "Utf8"],
      ["note", type.f64, "Float64"],
      ["other", type.i32, "Int32"],
    ] as const) {
      await client.ok("/v1/table/again/add_columns/", emptyStream({ [name]: added }));
      expect(await asked("again", name, { filter: "id >= 0" })).toEqual([written, nulls]);
      // Comparing values reads the whole column.
      expect(await asked("again", name, { filter: `${name} IS NULL` })).toEqual([written, nulls]);
      expect(await client.count("again", { predicate: `${name} IS NOT NULL` })).toBe(0);
      await client.ok("/v1/table/again/drop_columns", { columns: [name] });
    }
  });
});

describe("columns renamed into each other", () => {
  it("return their own values for rows without index coverage", async () => {
    const { client } = joust;
    const rows = (id: number, one: string, two: string) =>
      stream({ id: [type.i64, [BigInt(id)]], one: [type.text, [one]], two: [type.text, [two]] });
    await client.createTable("renamed", rows(1, "apples", "pears"));
    await textIndex(client, "renamed", { column: "one" });
    await textIndex(client, "renamed", { column: "two" });
    await client.insert("renamed", rows(2, "cherries", "plums"));
    const searchIds = (text: string, column: string) =>
      search(client, "renamed", words(text, [column]));
    expect(await searchIds("cherries", "one")).toEqual([2]);
    expect(await searchIds("plums", "two")).toEqual([2]);
    for (const [path, rename] of [
      ["one", "three"],
      ["two", "one"],
      ["three", "two"],
    ]) {
      await client.ok("/v1/table/renamed/alter_columns", { alterations: [{ path, rename }] });
    }
    expect(await searchIds("cherries", "two")).toEqual([2]);
    expect(await searchIds("plums", "one")).toEqual([2]);
    expect(await searchIds("cherries", "one")).toEqual([]);
    expect(await searchIds("plums", "two")).toEqual([]);
    expect(await searchIds("apples", "two")).toEqual([1]);
  });
});

/** Only other tools can write `_distance` and `_score`: see the engine's tests. */
describe("a column named `_relevance_score`, like the score of hybrid searches", () => {
  const size = 30;
  const values = Array.from({ length: size }, (_, row) => Math.fround(300 + row / 4));
  const table = stream({
    id: [type.i64, values.map((_, row) => BigInt(row))],
    text: [type.text, values.map((_, row) => `word${row % 3} all`)],
    vector: [type.vector(2), values.map((value) => [value - 300, 1])],
    _relevance_score: [type.f32, values],
  });
  const expected: [string, unknown[]] = ["Float32", values];

  it("is read like any other column", async () => {
    await joust.client.createTable("own", table);
    const filter = "id >= 0 AND id < 1000";
    expect(await asked("own", "_relevance_score", { filter })).toEqual(expected);
    const all = { filter, columns: undefined };
    expect(await asked("own", "_relevance_score", all)).toEqual(expected);
  });

  it("is returned by other searches and replaced by the score in hybrid searches", async () => {
    const { client } = joust;
    await client.createTable("searched", table);
    await textIndex(client, "searched", { column: "text" });
    const text = words("word1", ["text"]);
    const send = async (query: Json): Promise<Json[]> => {
      const first = (await client.query("searched", { k: size, ...query })).toArray();
      expect(first.length).toBeGreaterThan(0);
      for (let time = 1; time < often; time++) {
        const rows = await client.query("searched", { k: size, ...query });
        expect(rows.toArray().map(String)).toEqual(first.map(String));
      }
      return first.map((row) => row.toJSON());
    };
    const vector = { single_vector: [0, 1] };
    const named = { column_names: ["id", "_relevance_score"] };
    for (const columns of [undefined, named]) {
      for (const query of [{ vector: {}, ...text }, { vector }]) {
        for (const row of await send({ ...query, columns })) {
          expect(row._relevance_score).toBe(300 + Number(row.id) / 4);
        }
      }
      for (const row of await send({ vector, ...text, columns })) {
        expect(row._relevance_score).toBeLessThan(1);
      }
    }
  });
});
