import { describe, expect, it } from "vitest";
import { stream, type } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { listIndexes } from "../../../harness/indexes.js";
import { setupServer } from "../../../harness/setup-server.js";
import { rows, search, textIndex, words } from "./text-tables.js";

const joust = setupServer();
const pets = [
  { id: 1, title: "The Cafés", body: "cats are running" },
  { id: 2, title: "A dog", body: null },
  { id: 3, title: "Well-known ponies", body: "a dog ran" },
];

describe("an FTS index", () => {
  it("can be built, listed, used and dropped", async () => {
    const { client } = joust;
    await client.createTable("life", rows(pets));
    const entry = await textIndex(client, "life", { column: "title", with_position: true });
    expect(entry).toMatchObject({
      columns: ["title"],
      index_type: "FTS",
      num_indexed_rows: 3,
      num_unindexed_rows: 0,
    });
    expect(JSON.parse(entry.index_details)).toMatchObject({
      base_tokenizer: "simple",
      language: "English",
      with_position: true,
      stem: true,
    });
    const stats = await client.ok("/v1/table/life/index/title_idx/stats", {});
    expect(stats).toMatchObject({ index_type: "FTS", num_indexed_rows: 3, num_unindexed_rows: 0 });
    expect(await client.ok("/v1/table/life/stats", {})).toMatchObject({ num_indices: 1 });
    expect(await search(client, "life", words("cafe"))).toEqual([1]);

    await client.ok("/v1/table/life/index/title_idx/drop");
    expect(await listIndexes(client, "life")).toEqual([]);
    expectFailure(await client.post("/v1/table/life/index/title_idx/stats", {}), 404, 6);
  });

  it("needs an unused name unless it is replaced", async () => {
    const { client } = joust;
    await client.createTable("names", rows(pets));
    await textIndex(client, "names", { column: "title" });
    const create = (body: object) => client.post("/v1/table/names/create_index", body);
    for (const index_type of ["FTS", "INVERTED", "NGRAM"]) {
      expectFailure(await create({ column: "title", index_type }), 409, 7, /title_idx/);
    }
    expectFailure(
      await create({ column: "body", index_type: "FTS", name: "title_idx", replace: true }),
      409,
      7,
      /another column/,
    );
    expectFailure(
      await create({ column: "title", index_type: "INVERTED", replace: true }),
      409,
      7,
      /drop it first/,
    );

    expect(await search(client, "names", words("pony"))).toEqual([3]);
    await textIndex(client, "names", { column: "title", replace: true, stem: false });
    expect(await search(client, "names", words("pony"))).toEqual([]);
    expect(await search(client, "names", words("ponies"))).toEqual([3]);
    expect(await listIndexes(client, "names")).toHaveLength(1);
  });

  it("replaces a native index with the same name", async () => {
    const { client } = joust;
    await client.createTable("native", rows(pets));
    await textIndex(client, "native", { column: "title", index_type: "INVERTED" });
    expect((await listIndexes(client, "native"))[0].index_type).toBe("INVERTED");
    expect(await search(client, "native", words("pony"))).toEqual([3]);
    const entry = await textIndex(client, "native", { column: "title", replace: true });
    expect(entry.index_type).toBe("FTS");
    expect(await search(client, "native", words("pony"))).toEqual([3]);
  });

  it("reports its block size, and the other block size selects Lance's own index", async () => {
    const { client } = joust;
    await client.createTable("blocks", rows(pets));
    const own = await textIndex(client, "blocks", { column: "title", block_size: 128 });
    expect(own.index_type).toBe("FTS");
    expect(JSON.parse(own.index_details).block_size).toBe(128);

    const native = await textIndex(client, "blocks", { column: "body", block_size: 256 });
    expect(native).toMatchObject({ index_type: "INVERTED", index_version: 3 });
    expect(JSON.parse(native.index_details).block_size).toBe(256);
    expect(await search(client, "blocks", words("dog", ["body"]))).toEqual([3]);

    const other = { column: "body", index_type: "FTS", name: "other", block_size: 129 };
    expectFailure(
      await client.post("/v1/table/blocks/create_index", other),
      400,
      13,
      /block_size.*128, 256/,
    );
  });

  it("can be built on a table without rows and on a column without texts", async () => {
    const { client } = joust;
    await client.createTable("empty", rows([]));
    const entry = await textIndex(client, "empty", { column: "title" });
    expect(entry).toMatchObject({ num_indexed_rows: 0, num_unindexed_rows: 0 });
    expect(await search(client, "empty", words("dog"))).toEqual([]);
    await client.insert("empty", rows(pets));
    expect(await search(client, "empty", words("dog"))).toEqual([2]);

    await client.createTable("nulls", rows([{ id: 1, title: null, body: null }]));
    await textIndex(client, "nulls", { column: "title" });
    expect(await search(client, "nulls", words("dog"))).toEqual([]);
  });

  it("can be built on a list of texts", async () => {
    const { client } = joust;
    await client.createTable(
      "lists",
      stream({
        id: [type.i64, [1n, 2n, 3n]],
        tags: [type.texts, [["red green", "blue"], ["red", "green blue"], null]],
      }),
    );
    await textIndex(client, "lists", { column: "tags", with_position: true });
    expect(await search(client, "lists", words("blue"))).toEqual([1, 2]);
    // A phrase does not span two list elements.
    expect(await search(client, "lists", words('"green blue"'))).toEqual([2]);
  });

  it("can be built on a branch only", async () => {
    const { client } = joust;
    await client.createTable("tree", rows(pets));
    await client.ok("/v1/table/tree/branches/create", { name: "dev" });
    await textIndex(client, "tree", { column: "title", name: "main_idx" });
    await client.ok("/v1/table/tree/create_index", {
      column: "title",
      index_type: "FTS",
      branch: "dev",
      stem: false,
    });
    await expect
      .poll(() => search(client, "tree", { ...words("ponies"), branch: "dev" }), {
        timeout: 20_000,
      })
      .toEqual([3]);
    expect(await search(client, "tree", { ...words("pony"), branch: "dev" })).toEqual([]);
    expect(await search(client, "tree", words("pony"))).toEqual([3]);
  });

  it.each<[string, object, RegExp]>([
    ["an unknown tokenizer", { base_tokenizer: "jieba/default" }, /ngram, icu, icu.split/],
    ["an unknown language", { language: "Klingon" }, /English/],
    [
      "a language without a list of stop words",
      { language: "Arabic", remove_stop_words: true },
      /custom_stop/,
    ],
    ["invalid n-gram lengths", { min_ngram_length: 4, max_ngram_length: 3 }, /min/],
    ["n-grams that are too long", { max_ngram_length: 100 }, /32/],
    ["a column without text", { column: "id" }, /text/],
  ])("is rejected for %s", async (_, body, detail) => {
    const { client } = joust;
    const id = "refused";
    if (!(await client.post(`/v1/table/${id}/exists`, {})).status.toString().startsWith("2")) {
      await client.createTable(id, rows(pets));
    }
    const reply = await client.post(`/v1/table/${id}/create_index`, {
      column: "title",
      index_type: "FTS",
      ...body,
    });
    expectFailure(reply, 400, 13, detail);
    expect(await listIndexes(client, id)).toEqual([]);
  });
});

describe("a parameter of an FTS index", () => {
  it.each<[string, object, string, number[]]>([
    ["stems", {}, "pony cafe", [1, 3]],
    ["stem off", { stem: false }, "pony", []],
    ["letter case", { lower_case: false, stem: false }, "the dog", [2]],
    ["accents", { ascii_folding: false, stem: false }, "cafes", []],
    ["stop words", {}, "the", []],
    ["no stop words", { remove_stop_words: false }, "the", [1]],
    ["custom stop words", { custom_stop_words: ["dog"] }, "dog the", [1]],
    ["short words only", { max_token_length: 5, stem: false }, "known dog", [2]],
    ["a null limit beside other nulls", { max_token_length: null, stem: null }, "pony", [3]],
    ["whitespace tokenizer", { base_tokenizer: "whitespace", stem: false }, "well-known", [3]],
    ["raw tokenizer", { base_tokenizer: "raw" }, "a DOG", [2]],
    ["grams", { base_tokenizer: "ngram", min_ngram_length: 2, max_ngram_length: 3 }, "oni", [3]],
    ["beginnings", { base_tokenizer: "ngram", min_ngram_length: 2, prefix_only: true }, "wel", [3]],
    ["another language", { language: "German" }, "dog", [2]],
  ])("takes effect: %s", async (_, params, query, expected) => {
    const { client } = joust;
    const id = `params${Math.random().toString(36).slice(2)}`;
    await client.createTable(id, rows(pets));
    await textIndex(client, id, { column: "title", ...params });
    expect((await search(client, id, words(query))).sort()).toEqual(expected);
  });
});

describe("text in languages without spaces", () => {
  const texts = [
    { id: 1, title: "数据管理很重要。", body: "대한민국의 수도는 서울이다" },
    { id: 2, title: "東京都の天気予報", body: "부산에서 만나요" },
    { id: 3, title: "plain English データ", body: "서울에서 & 부산" },
  ];

  it.each<[string, object, string, "title" | "body", number[], string]>([
    ["Chinese", { base_tokenizer: "icu" }, "数据", "title", [1], "<em>数据</em>管理很重要。"],
    ["Japanese", { base_tokenizer: "icu" }, "天気", "title", [2], "東京都の<em>天気</em>予報"],
    [
      "both",
      { base_tokenizer: "icu/split" },
      "データ",
      "title",
      [3],
      "plain English <em>データ</em>",
    ],
    ["English", { base_tokenizer: "icu" }, "plains", "title", [3], "<em>plain</em> English データ"],
    [
      "Korean",
      { base_tokenizer: "cjk" },
      "서울",
      "body",
      [1, 3],
      "대한민국의 수도는 <em>서울</em>이다",
    ],
    [
      "pairs",
      { base_tokenizer: "cjk" },
      "대한민국",
      "body",
      [1],
      "<em>대한민국</em>의 수도는 서울이다",
    ],
  ])("is found and highlighted: %s", async (_, params, query, column, expected, passage) => {
    const { client } = joust;
    const id = `unspaced${Math.random().toString(36).slice(2)}`;
    await client.createTable(id, rows(texts));
    await textIndex(client, id, { column, ...params });
    expect((await search(client, id, words(query))).sort()).toEqual(expected);
    const only = { filter: `id = ${expected[0]}`, highlight: {} };
    const result = await client.query(id, { vector: {}, ...words(query), ...only });
    const [highlights] = JSON.parse(JSON.stringify(result.getChild("_highlights")?.toArray()));
    expect(highlights[column]).toEqual([passage]);
  });

  it("is limited to max_token_length if that is set", async () => {
    const { client } = joust;
    const long = "x".repeat(60);
    await client.createTable("long", rows([{ id: 1, title: long, body: long }]));
    await textIndex(client, "long", { column: "title" });
    await textIndex(client, "long", { column: "body", max_token_length: null });
    expect(await search(client, "long", words(long, ["title"]))).toEqual([]);
    expect(await search(client, "long", words(long, ["body"]))).toEqual([1]);
  });
});
