import {
  BooleanQuery,
  BoostQuery,
  Index,
  MatchQuery,
  MultiMatchQuery,
  Occur,
  Operator,
  PhraseQuery,
  rerankers,
  type Table,
} from "@lancedb/lancedb";
import { beforeAll, describe, expect, it } from "vitest";
import { setupDatabase } from "./setup-database.js";

const STORIES = [
  ["the quick brown fox", "a fox jumps over the lazy dog"],
  ["a lazy afternoon", "the dog sleeps and the cat sleeps"],
  ["brown bread", "how to bake bread at home"],
  ["the dog days", "summer is hot and lazy"],
  ["fox in the snow", "an arctic fox hunts in the snow"],
];

describe("@lancedb/lancedb 0.39: full-text and hybrid search", () => {
  const remote = setupDatabase();
  let table: Table;
  const result = async (query: { toArray(): Promise<{ id: number }[]> }) =>
    (await query.toArray()).map(({ id }) => id).sort();

  beforeAll(async () => {
    const rows = STORIES.map(([title, body], id) => ({ id, title, body, vector: [id, 1] }));
    table = await remote.database.createTable("stories", rows);
    for (const column of ["title", "body"]) {
      const config = Index.fts({ withPosition: true, removeStopWords: false });
      await table.createIndex(column, { config, waitTimeoutSeconds: 60 });
    }
  });

  it("the client finds words", async () => {
    expect(await result(table.query().fullTextSearch("fox", { columns: "title" }))).toEqual([0, 4]);
    expect(await result(table.search("bread", "fts"))).toEqual([2]);
    const [row] = await table.query().nearestToText("dog", ["title"]).toArray();
    expect(row).toMatchObject({ id: 3 });
    expect(row._score).toBeGreaterThan(0);
    const both = table.query().fullTextSearch("bread dog", { columns: ["title", "body"] });
    expect(await result(both)).toEqual([0, 1, 2, 3]);
    const filtered = table.query().fullTextSearch("dog").where("id > 0").select(["id"]).limit(5);
    expect(await result(filtered)).toEqual([1, 3]);
  });

  it("the client sends structured queries", async () => {
    const match = (words: string, options = {}) => new MatchQuery(words, "body", options);
    const search = (query: MatchQuery | PhraseQuery | BoostQuery | BooleanQuery) =>
      result(table.query().fullTextSearch(query));
    expect(await search(match("fox dog"))).toEqual([0, 1, 4]);
    expect(await search(match("fox dog", { operator: Operator.And }))).toEqual([0]);
    expect(await search(match("sumer"))).toEqual([]);
    expect(await search(match("sumer", { fuzziness: 1 }))).toEqual([3]);
    expect(await search(match("summerxyz", { fuzziness: 3, prefixLength: 6 }))).toEqual([3]);
    expect(await search(match("zummerxy", { fuzziness: 3, prefixLength: 6 }))).toEqual([]);
    expect(await search(new PhraseQuery("lazy dog", "body"))).toEqual([0]);
    expect(await search(new PhraseQuery("jumps lazy", "body", { slop: 2 }))).toEqual([0]);
    expect(await search(new BoostQuery(match("fox"), match("snow")))).toEqual([0, 4]);
    const without = new BooleanQuery([
      [Occur.Must, match("fox")],
      [Occur.MustNot, match("snow")],
    ]);
    expect(await search(without)).toEqual([0]);
    const several = new MultiMatchQuery("dog", ["title", "body"], { boosts: [100, 1] });
    expect((await table.query().fullTextSearch(several).toArray())[0]).toMatchObject({ id: 3 });
  });

  it("the client searches by words and by vector together", async () => {
    const reranker = await rerankers.RRFReranker.create(1);
    const query = table.query().nearestTo([4, 1]).fullTextSearch("snow").rerank(reranker);
    const rows = await query.limit(3).toArray();
    expect(rows).toHaveLength(3);
    expect(rows[0]).toMatchObject({ id: 4 });
    // First in both searches: this client counts ranks from zero, so each contributes 1 / (0 + k).
    expect(rows[0]._relevance_score).toBeCloseTo(1 / 1 + 1 / 1, 5);
  });
});
