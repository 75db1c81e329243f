import { Field, Int64, Schema, Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";
import { search, structured, textIndex, words } from "./text-tables.js";

const joust = setupServer();

/** Documents for create and insert: an id and a JSON column. */
function documents(all: readonly (readonly [id: number, document: unknown])[]): Uint8Array {
  const json = new Map([["ARROW:extension:name", "arrow.json"]]);
  const schema = new Schema([
    new Field("id", new Int64(), true),
    new Field("meta", new Utf8(), true, json),
  ]);
  const texts = all.map(([, document]) => (document === null ? null : JSON.stringify(document)));
  const ids = all.map(([id]) => BigInt(id));
  const columns = {
    id: vectorFromArray(ids, new Int64()),
    meta: vectorFromArray(texts, new Utf8()),
  };
  return tableToIPC(new Table(schema, columns), "stream");
}

const first = documents([
  [1, { title: "red foxes", author: { name: "Ann", "full.name": "Ann Blue" }, year: 2020 }],
  [2, { title: "blue whales", tags: ["red", { note: "green frogs" }] }],
  [3, { author: [{ name: "Red Baron" }, { name: "Bea" }], title: null }],
  [4, null],
]);

beforeAll(async () => {
  const { client } = joust;
  await client.createTable("docs", first);
});

describe("a text index on a JSON column", () => {
  it("finds all strings of a document", async () => {
    const { client } = joust;
    const entry = await textIndex(client, "docs", { column: "meta", name: "all" });
    expect(entry).toMatchObject({ columns: ["meta"], index_type: "FTS" });
    expect((await search(client, "docs", words("red", ["meta"]))).sort()).toEqual([1, 2, 3]);
    expect(await search(client, "docs", words("frog", ["meta"]))).toEqual([2]);
    expect(await search(client, "docs", words("2020 title", ["meta"]))).toEqual([]);
  });

  it.each<[string, string, number[]]>([
    ["meta.title", "red blue", [1, 2]],
    ["META.author.name", "ann red", [1, 3]],
    ["meta.author.`full.name`", "blue", [1]],
    ["meta.tags", "green red", [2]],
    ["meta.none", "red", []],
  ])("finds the strings of one path: %s", async (column, query, expected) => {
    const { client } = joust;
    const id = `path${Math.random().toString(36).slice(2)}`;
    await client.createTable(id, first);
    await textIndex(client, id, { column, name: "by_path", with_position: true });
    const searchIds = (body: object) => search(client, id, body).then((ids) => ids.sort());
    expect(await searchIds(words(query))).toEqual(expected);
    expect(await searchIds(words(query, [column]))).toEqual(expected);
    const match = { match: { column, terms: query, fuzziness: 0 } };
    expect(await searchIds(structured(match))).toEqual(expected);

    await client.insert(id, documents([[9, { none: { deep: "red" }, title: "red" }]]));
    const more = column === "meta.title" || column === "meta.none" ? [...expected, 9] : expected;
    expect(await searchIds(words(query))).toEqual(more);
  });

  it("has a default name per path and supports highlights", async () => {
    const { client } = joust;
    await client.createTable("two", first);
    const title = await textIndex(client, "two", { column: "meta.title" });
    expect(title).toMatchObject({ index_name: "meta.title_idx", columns: ["meta.title"] });
    await textIndex(client, "two", { column: "meta.tags" });
    const highlight = async (query: object) => {
      const searchIds = await client.query("two", { vector: {}, ...query, highlight: {} });
      return JSON.parse(JSON.stringify(searchIds.getChild("_highlights")?.toArray()));
    };
    expect(await highlight(words("fox frog", ["meta.title", "meta.tags"]))).toEqual(
      expect.arrayContaining([
        { "meta.title": ["red <em>foxes</em>"], "meta.tags": [] },
        { "meta.title": [], "meta.tags": ["green <em>frogs</em>"] },
      ]),
    );
    await client.ok("/v1/table/two/index/meta.title_idx/drop");
    expect(await search(client, "two", words("frog"))).toEqual([2]);
    const gone = { k: 1, vector: {}, ...words("fox", ["meta.title"]) };
    expectFailure(await client.post("/v1/table/two/query", gone), 400, 13, /meta.title/);
  });

  it("returns matching JSON like any other query", async () => {
    const { client } = joust;
    await client.createTable("returned", first);
    await textIndex(client, "returned", { column: "meta" });
    const meta = async (query: object) => {
      const searchIds = await client.query("returned", { k: 1, vector: {}, ...query });
      const field = searchIds.schema.fields.find(({ name }) => name === "meta");
      return {
        type: `${field?.type}`,
        metadata: field?.metadata,
        document: searchIds.get(0)?.meta,
      };
    };
    const plain = await meta({ filter: "id = 2" });
    expect(plain.metadata?.get("ARROW:extension:name")).toBe("arrow.json");
    expect(await meta(words("whales"))).toEqual(plain);
    const order_by = [{ column_name: "id" }];
    expect(await meta({ filter: "id > 1", order_by })).toEqual(plain);
  });

  it("returns expressions of JSON and the score", async () => {
    const { client } = joust;
    await client.createTable(
      "boosted",
      documents([
        [1, { title: "a fox", boost: 2.5, credit_score: 7 }],
        [2, { title: "a fox", boost: 0.5, credit_score: 8 }],
      ]),
    );
    await textIndex(client, "boosted", { column: "meta.title" });
    const column_aliases = {
      id: "id",
      credit: "json_get_int(meta, 'credit_score')",
      boosted: "_score * json_get_float(meta, 'boost')",
      _score: "_score",
    };
    const columns = { column_aliases };
    const found = await client.query("boosted", { k: 9, vector: {}, columns, ...words("fox") });
    expect(found.numRows).toBe(2);
    for (const row of found) {
      expect(Number(row.credit)).toBe(Number(row.id) + 6);
      expect(row.boosted).toBeCloseTo(row._score * (Number(row.id) === 1 ? 2.5 : 0.5), 5);
    }
  });

  it("is rejected on a path of a column that is not JSON", async () => {
    const { client } = joust;
    const create = (column: string) =>
      client.post("/v1/table/docs/create_index", { column, index_type: "FTS" });
    expectFailure(await create("id.title"), 404, 12, /id.title/);
    expectFailure(await create("nope.title"), 404, 12, /nope.title/);
  });
});
