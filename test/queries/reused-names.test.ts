import { describe, expect, it } from "vitest";
import { emptyStream, stream, type } from "../harness/arrow.js";
import type { Json } from "../harness/client.js";
import { useServer } from "../harness/use-server.js";
import { search, textIndex, words } from "../text/texts.js";

const serving = useServer({ args: ["--maintenance", "off"] });

/** Times that a query is asked: what answers keep asking for comes into memory by use. */
const often = 14;

/** The values of a column in all rows, as the last of many queries gives them, and the column's type. */
async function asked(id: string, column: string, query: object = {}): Promise<[string, unknown[]]> {
  let last: [string, unknown[]] = ["", []];
  for (let time = 0; time < often; time++) {
    const columns = { column_names: [column] };
    const rows = await serving.client.query(id, { k: 100, vector: {}, columns, ...query });
    const values = [...(rows.getChild(column) ?? [])];
    const now: [string, unknown[]] = [`${rows.getChild(column)?.type}`, values];
    if (time > 0) expect(now).toEqual(last);
    last = now;
  }
  return last;
}

describe("a column without values", () => {
  it("can be dropped and added again with another type", async () => {
    const { client } = serving;
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
      // All of a column is read to compare its values.
      expect(await asked("again", name, { filter: `${name} IS NULL` })).toEqual([written, nulls]);
      expect(await client.count("again", { predicate: `${name} IS NOT NULL` })).toBe(0);
      await client.ok("/v1/table/again/drop_columns", { columns: [name] });
    }
  });
});

describe("columns that are renamed into one another", () => {
  it("keep their own rows that no index covers", async () => {
    const { client } = serving;
    const rows = (id: number, one: string, two: string) =>
      stream({ id: [type.i64, [BigInt(id)]], one: [type.text, [one]], two: [type.text, [two]] });
    await client.createTable("renamed", rows(1, "apples", "pears"));
    await textIndex(client, "renamed", { column: "one" });
    await textIndex(client, "renamed", { column: "two" });
    await client.insert("renamed", rows(2, "cherries", "plums"));
    const found = (text: string, column: string) =>
      search(client, "renamed", words(text, [column]));
    expect(await found("cherries", "one")).toEqual([2]);
    expect(await found("plums", "two")).toEqual([2]);
    for (const [path, rename] of [
      ["one", "three"],
      ["two", "one"],
      ["three", "two"],
    ]) {
      await client.ok("/v1/table/renamed/alter_columns", { alterations: [{ path, rename }] });
    }
    expect(await found("cherries", "two")).toEqual([2]);
    expect(await found("plums", "one")).toEqual([2]);
    expect(await found("cherries", "one")).toEqual([]);
    expect(await found("plums", "two")).toEqual([]);
    expect(await found("apples", "two")).toEqual([1]);
  });
});

describe("columns called as a search calls its own", () => {
  const names = ["_distance", "_score", "_relevance_score"];
  const size = 30;
  const values = (from: number) =>
    Array.from({ length: size }, (_, row) => Math.fround(from + row / 4));
  const table = () =>
    stream({
      id: [type.i64, values(0).map((_, row) => BigInt(row))],
      text: [type.text, values(0).map((_, row) => `word${row % 3} all`)],
      vector: [type.vector(2), values(0).map((value) => [value, 1])],
      ...Object.fromEntries(names.map((name, at) => [name, [type.f32, values(100 * (at + 1))]])),
    });

  it("are read like any other column", async () => {
    await serving.client.createTable("own", table());
    for (const [at, name] of names.entries()) {
      const expected: [string, unknown[]] = ["Float32", values(100 * (at + 1))];
      expect(await asked("own", name, { filter: "id >= 0" })).toEqual(expected);
      const all = { filter: "id >= 0 AND id < 1000", columns: undefined };
      expect(await asked("own", name, all)).toEqual(expected);
    }
  });

  it("are read by a search that knows no such value, and hide behind one that does", async () => {
    const { client } = serving;
    await client.createTable("searched", table());
    await textIndex(client, "searched", { column: "text" });
    const ask = async (query: Json): Promise<Json[]> => {
      let last: Json[] = [];
      for (let time = 0; time < often; time++) {
        const rows = await client.query("searched", { k: size, ...query });
        const now = rows.toArray().map((row) => row.toJSON());
        if (time > 0) expect(now).toEqual(last);
        last = now;
      }
      expect(last.length).toBeGreaterThan(0);
      return last;
    };
    const vector = { single_vector: [0, 1] };
    for (const columns of [undefined, { column_names: ["id", ...names] }]) {
      for (const row of await ask({ vector: {}, columns, ...words("word1", ["text"]) })) {
        expect(row._distance).toBe(100 + Number(row.id) / 4);
        expect(row._relevance_score).toBe(300 + Number(row.id) / 4);
        expect(row._score).toBeLessThan(100);
      }
      for (const row of await ask({ vector, columns })) {
        expect(row._distance).toBeCloseTo((Number(row.id) / 4) ** 2, 3);
        expect(row._score).toBe(200 + Number(row.id) / 4);
        expect(row._relevance_score).toBe(300 + Number(row.id) / 4);
      }
    }
    for (const row of await ask({ vector, ...words("word1", ["text"]) })) {
      expect(row._relevance_score).toBeLessThan(1);
      if (row._distance !== null) expect(row._distance).toBeLessThan(100);
    }
  });
});
