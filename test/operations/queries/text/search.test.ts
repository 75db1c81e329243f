import { beforeAll, describe, expect, it } from "vitest";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";
import { type Row, rows, search, structured, textIndex, words } from "./text-tables.js";

const joust = setupServer({ args: ["--maintenance", "off"] });
const find = (body: object) => search(joust.client, "t", body);
const match = (column: string, terms: string, more: object = {}) => ({
  match: { column, terms, fuzziness: 0, ...more },
});
/** The query has no fuzziness member. */
const exact = (terms: string, more: object = {}) => ({
  match: { column: "title", terms, ...more },
});
const phrase = (column: string, terms: string, slop = 0) => ({ phrase: { column, terms, slop } });

const library: Row[] = [
  { id: 1, title: "red fox", body: "the quick brown fox jumps over the lazy dog" },
  { id: 2, title: "red dog", body: "a dog sleeps" },
  { id: 3, title: "blue dog", body: "fox fox fox" },
  { id: 4, title: "green bird", body: "brown quick birds fly over the quick brown house" },
  { id: 5, title: "falcon", body: null },
  { id: 6, title: "falkon", body: "falcons" },
];

beforeAll(async () => {
  const { client } = joust;
  await client.createTable("t", rows(library));
  await textIndex(client, "t", { column: "title", with_position: true });
  await textIndex(client, "t", { column: "body", with_position: true });
});

describe("a text search", () => {
  it.each<[string, object, number[]]>([
    ["words of one column", words("fox", ["title"]), [1]],
    ["words of every column with the best score per row", words("fox"), [3, 1]],
    ["any of the words", words("red bird", ["title"]), [4, 1, 2]],
    ["a phrase in quotes", words('"quick brown"', ["body"]), [1, 4]],
    ["a phrase over every column", words('"red dog"'), [2]],
    ["all of the words", structured(match("title", "red dog", { operator: "And" })), [2]],
    ["a word with a spelling error", structured(match("title", "falcom", { fuzziness: 1 })), [5]],
    [
      "fuzzy words after the exact word",
      structured(match("title", "falcon", { fuzziness: "auto" })),
      [5, 6],
    ],
    ["exact words without fuzziness", structured(exact("falcon")), [5]],
    ["exact words with null fuzziness", structured(exact("falcon", { fuzziness: null })), [5]],
    [
      "exact words in several queries",
      structured({ multi_match: { match_queries: [exact("falcon").match, exact("red").match] } }),
      [5, 1, 2],
    ],
    [
      "words that are more than two edits away",
      structured(match("title", "fullcom", { fuzziness: 3 })),
      [5],
    ],
    [
      "a fixed prefix",
      structured(match("title", "falcon", { fuzziness: 2, prefix_length: 4 })),
      [5],
    ],
    ["a phrase", structured(phrase("body", "quick brown")), [1, 4]],
    ["a phrase with a slop", structured(phrase("body", "quick fox", 1)), [1]],
    ["no phrase beyond the slop", structured(phrase("body", "quick fox")), []],
    [
      "several queries with the best score",
      structured({
        multi_match: {
          match_queries: [
            { column: "title", terms: "dog", fuzziness: 0 },
            { column: "body", terms: "dog", fuzziness: 0 },
          ],
        },
      }),
      [2, 3, 1],
    ],
    [
      "rows with must and must_not terms in one column",
      structured({
        boolean: {
          must: [match("title", "dog")],
          should: [],
          must_not: [match("title", "blue")],
        },
      }),
      [2],
    ],
    [
      "rows with must and must_not terms in several columns",
      structured({
        boolean: {
          must: [match("body", "fox")],
          should: [],
          must_not: [match("title", "dog")],
        },
      }),
      [1],
    ],
    [
      "rows with must terms ranked by should terms",
      structured({
        boolean: { must: [match("title", "dog")], should: [match("body", "fox")], must_not: [] },
      }),
      [3, 2],
    ],
    [
      "rows with a negative boost ranked lower",
      structured({
        boost: {
          positive: match("title", "red"),
          negative: match("title", "fox"),
          negative_boost: 0.5,
        },
      }),
      [2, 1],
    ],
    [
      "words across several columns as one text",
      structured({
        combined_fields: { query: "blue fox", columns: ["title", "body"], operator: "And" },
      }),
      [3],
    ],
    ["nothing for an empty query", words(""), []],
    ["nothing for stop words only", words("the of"), []],
  ])("finds %s", async (_, query, expected) => {
    expect(await find(query)).toEqual(expected);
  });

  it("scores live rows only and orders equal scores by age", async () => {
    const result = await joust.client.query("t", {
      vector: {},
      ...words("red", ["title"]),
      with_row_id: true,
    });
    expect(result.schema.fields.map((field) => field.name)).toEqual([
      "id",
      "title",
      "body",
      "_score",
      "_rowid",
    ]);
    expect(String(result.schema.fields[3]?.type)).toBe("Float32");
    expect(String(result.schema.fields[4]?.type)).toBe("Uint64");
    const [first, second] = result.toArray();
    // ln(1 + (6 - 2 + 0.5) / (2 + 0.5)) x 2.2 / (1 + 1.2 x (0.25 + 0.75 x 2 / (10 / 6)))
    expect(first._score).toBeCloseTo(0.9517, 3);
    expect(second._score).toBe(first._score);
    expect(second._rowid).toBeGreaterThan(first._rowid);
  });

  it("multiplies scores by a boost", async () => {
    const score = async (boost: number) => {
      const result = await joust.client.query("t", {
        vector: {},
        ...structured(match("title", "red", { boost })),
      });
      return result.toArray()[0]._score;
    };
    expect(await score(3)).toBeCloseTo(3 * (await score(1)), 5);
  });
});

describe("a text search can be combined with", () => {
  it("a filter before or after the search", async () => {
    const dogs = { ...words("dog", ["title", "body"]), filter: "id > 1" };
    expect(await find({ ...dogs, k: 1 })).toEqual([2]);
    expect(await find({ ...words("fox"), filter: "id = 1", k: 1 })).toEqual([1]);
    expect(await find({ ...words("fox"), filter: "id = 1", k: 1, prefilter: false })).toEqual([]);
    expect(await find({ ...words("fox"), filter: "id = 1", k: 2, prefilter: false })).toEqual([1]);
    expect(await find({ ...words("fox"), filter: "id > 100" })).toEqual([]);
  });

  it("an offset, zero rows and all rows", async () => {
    const all = await find({ ...words("dog fox"), k: 100 });
    expect(all).toHaveLength(3);
    expect(await find({ ...words("dog fox"), k: 1, offset: 1 })).toEqual([all[1]]);
    expect(await find({ ...words("dog fox"), k: 10, offset: 10 })).toEqual([]);
    expect(await find({ ...words("dog fox"), k: 0 })).toEqual([]);
    const unlimited = `{"k":9223372036854775807,"vector":[],"full_text_query":{"query":"dog fox"}}`;
    expect((await joust.client.post("/v1/table/t/query", unlimited)).status).toBe(200);
  });

  it("any columns and expressions", async () => {
    const names = async (columns: object) => {
      const result = await joust.client.query("t", { vector: {}, ...words("fox"), columns });
      return [result.schema.fields.map((field) => field.name), result.toArray()] as const;
    };
    const [plain] = await names({ column_names: ["body", "ID"] });
    expect(plain).toEqual(["body", "ID", "_score"]);
    const [order, result] = await names({
      column_aliases: {
        twice: "_score * 2",
        s: "_score",
        next: "id + 1",
        row: "_rowid",
        up: "upper(title)",
      },
    });
    expect(order).toEqual(["twice", "s", "next", "row", "up", "_score"]);
    expect(result[0]).toMatchObject({ next: 4n, up: "BLUE DOG" });
    expect(result[0].twice).toBeCloseTo(2 * result[0].s, 5);
    const mixed = await names({ column_aliases: { mix: "_score + id" } });
    expect(mixed[1][0].mix).toBeCloseTo(mixed[1][0]._score + 3, 4);
  });

  it("an explicit order", async () => {
    const order_by = [{ column_name: "id", ascending: false }];
    expect(await find({ ...words("dog fox"), order_by })).toEqual([3, 2, 1]);
    expect(await find({ ...words("dog fox"), order_by, k: 1, offset: 1 })).toHaveLength(1);
  });
});

describe("an invalid text search is rejected", () => {
  it.each<[string, object, RegExp]>([
    ["an unknown column", words("fox", ["nope"]), /nope/],
    ["no query", { full_text_query: {} }, /query/],
    [
      "both forms",
      {
        full_text_query: {
          string_query: { query: "a" },
          structured_query: { query: match("title", "a") },
        },
      },
      /one of/,
    ],
    ["an unknown kind", structured({ regex: { terms: "a" } }), /regex/],
    ["an unknown operator", structured(match("title", "a", { operator: "xor" })), /And or Or/],
    ["too many edits", structured(match("title", "a", { fuzziness: 9 })), /fuzziness/],
    [
      "a query without a term",
      structured({ boolean: { must: [], should: [], must_not: [] } }),
      /must/,
    ],
    ["a text that is too long", words("word ".repeat(10_000)), /bytes/],
  ])("for %s", async (_, query, detail) => {
    const reply = await joust.client.post("/v1/table/t/query", { k: 1, vector: {}, ...query });
    expect(reply.json.detail).toMatch(detail);
    expect(reply.status === 400 || reply.status === 404).toBe(true);
  });

  it("for an additional vector", async () => {
    const reply = await joust.client.post("/v1/table/t/query", {
      k: 1,
      vector: { single_vector: [1] },
      ...words("fox"),
    });
    expectFailure(reply, 400, 13);
  });
});

describe("text search results follow", () => {
  const at = (version: number, query: object) =>
    search(joust.client, "fresh", { ...query, version });

  it("inserts, updates, deletes and versions", async () => {
    const { client } = joust;
    const word = (id: number, title: string) => ({ id, title, body: null });
    await client.createTable("fresh", rows([word(1, "old cat"), word(2, "old dog")]));
    await textIndex(client, "fresh", { column: "title" });
    const version = async () => (await client.ok("/v1/table/fresh/describe", {})).version as number;
    const first = await version();

    await client.insert("fresh", rows([word(3, "new cat"), word(4, "new dog")]));
    expect(await search(client, "fresh", words("cat"))).toEqual([1, 3]);
    expect(await search(client, "fresh", { ...words("cat"), fast_search: true })).toEqual([1]);
    const second = await version();

    await client.ok("/v1/table/fresh/delete", { predicate: "id = 1" });
    expect(await search(client, "fresh", words("cat"))).toEqual([3]);
    const third = await version();

    await client.ok("/v1/table/fresh/update", {
      predicate: "id = 2",
      updates: [["title", "'young cat'"]],
    });
    expect(await search(client, "fresh", words("cat"))).toEqual([2, 3]);
    expect(await search(client, "fresh", words("old"))).toEqual([]);
    expect(await search(client, "fresh", words("dog"))).toEqual([4]);

    // An update of another column moves the row and keeps its text.
    await client.ok("/v1/table/fresh/update", { predicate: "id = 3", updates: [["body", "'x'"]] });
    expect(await search(client, "fresh", words("cat"))).toEqual([2, 3]);

    expect(await at(first, words("cat"))).toEqual([1]);
    expect(await at(second, words("cat"))).toEqual([1, 3]);
    expect(await at(third, words("dog"))).toEqual([2, 4]);

    await client.ok("/v1/table/fresh/restore", { version: second });
    expect(await search(client, "fresh", words("cat"))).toEqual([1, 3]);
    const entry = await textIndex(client, "fresh", { column: "title", replace: true });
    expect(entry).toMatchObject({ num_indexed_rows: 4, num_unindexed_rows: 0 });
    expect(await search(client, "fresh", words("cat"))).toEqual([1, 3]);
  });

  it("changes on branches", async () => {
    const { client } = joust;
    const word = (id: number, title: string) => ({ id, title, body: null });
    await client.createTable("forked", rows([word(1, "cat"), word(2, "dog")]));
    await textIndex(client, "forked", { column: "title" });
    await client.ok("/v1/table/forked/branches/create", { name: "dev" });
    await client.insert("forked", rows([word(3, "cat")]), { branch: "dev" });
    await client.insert("forked", rows([word(4, "cat")]));
    expect(await search(client, "forked", words("cat"))).toEqual([1, 4]);
    expect(await search(client, "forked", { ...words("cat"), branch: "dev" })).toEqual([1, 3]);
  });
});

describe("the plan of a text search", () => {
  it("names the analyzed terms, segments, unindexed rows, filters and hits", async () => {
    const { client } = joust;
    await client.createTable("plans", rows(library));
    await textIndex(client, "plans", { column: "title" });
    await client.insert("plans", rows([{ id: 7, title: "foxes", body: null }]));
    const query = { k: 3, vector: {}, ...words("The Foxes running"), filter: "id > 0" };
    const plan = await client.ok("/v1/table/plans/explain_plan", { query });
    for (const part of [
      /Term: `fox`/,
      /Term: `run`/,
      /TextMatch: rows=3/,
      /TextIndex: name=title_idx, column=title, segments=1, rows=6, tail=1/,
      /MatchQuery: column=title, query=\[The Foxes running\]/,
      /LanceRead: .*full_filter=id > Int64\(0\)/,
      /GlobalLimitExec: skip=0, fetch=3/,
    ]) {
      expect(plan).toMatch(part);
    }
    expect(plan).not.toMatch(/`the`/);
    const analyzed = await client.ok("/v1/table/plans/analyze_plan", query);
    const measured = (rows: string) => `, metrics=\\[output_rows=${rows}, elapsed=\\d`;
    expect(analyzed).toMatch(/^AnalyzeExec /);
    expect(analyzed).toMatch(new RegExp(`TextSegment: number=1${measured("\\d+")}`));
    expect(analyzed).toMatch(new RegExp(`TextTail${measured("\\d+")}`));
    expect(analyzed).toMatch(new RegExp(`TextMatch: rows=3${measured("2")}`));
    const after = await client.ok("/v1/table/plans/explain_plan", {
      query: { ...query, prefilter: false },
    });
    expect(after).toMatch(/FilterExec: id > Int64\(0\)/);
    expect(after).not.toContain("full_filter=id > Int64(0)");
    expect(analyzed).not.toContain(joust.root);
  });
});
