import { Index, type Table } from "@lancedb/lancedb";
import { Field, Int64, List, Schema, Utf8 } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items, newTable, vectorOf } from "./items.js";
import { setupDatabase } from "./setup-database.js";

const ready = { waitTimeoutSeconds: 120 };

describe("@lancedb/lancedb 0.39: indexes", () => {
  const remote = setupDatabase();
  let table: Table;

  beforeAll(async () => {
    table = await newTable(remote.database, items(600));
  });

  it.each([
    ["IvfFlat", Index.ivfFlat({ numPartitions: 4, distanceType: "cosine" })],
    ["IvfPq", Index.ivfPq({ numPartitions: 4, numSubVectors: 8, numBits: 8, maxIterations: 10 })],
    ["IvfRq", Index.ivfRq({ numPartitions: 4, numBits: 1 })],
    ["IvfHnswSq", Index.hnswSq({ numPartitions: 1, m: 16, efConstruction: 100 })],
  ])("the client builds %s", async (kind, config) => {
    await table.createIndex("vector", { config, ...ready });
    expect(await table.listIndices()).toMatchObject([
      { name: "vector_idx", indexType: kind, columns: ["vector"], numIndexedRows: 600 },
    ]);
    const stats = await table.indexStats("vector_idx");
    expect(stats).toMatchObject({ numIndexedRows: 600, numUnindexedRows: 0 });
    const query = table.vectorSearch(vectorOf(42)).nprobes(4).refineFactor(20).limit(2);
    const distance = kind === "IvfFlat" ? query.distanceType("cosine") : query;
    expect((await distance.toArray())[0]).toMatchObject({ id: 42 });
    await table.dropIndex("vector_idx");
    expect(await table.listIndices()).toEqual([]);
  });

  it("the client builds scalar indexes", async () => {
    await table.createIndex("id", { config: Index.btree(), ...ready });
    await table.createIndex("category", { config: Index.bitmap(), name: "by_category", ...ready });
    await table.createIndex("name", { config: Index.fm(), ...ready });
    const listed = await table.listIndices();
    expect(listed.map(({ name, indexType }) => [name, indexType]).sort()).toEqual([
      ["by_category", "Bitmap"],
      ["id_idx", "BTree"],
      ["name_idx", "Fm"],
    ]);
    expect(await table.indexStats("id_idx")).toMatchObject({
      indexType: "BTREE",
      numIndexedRows: 600,
    });
    expect(await table.countRows("category = 'c3' and id between 10 and 19")).toBe(2);
    for (const { name } of listed) await table.dropIndex(name);
  });

  it("the client builds an index on a list column", async () => {
    const text = new List(new Field("item", new Utf8(), true));
    const schema = new Schema([new Field("id", new Int64()), new Field("labels", text)]);
    const labelled = await remote.database.createEmptyTable("labelled", schema);
    await labelled.add([
      { id: 1, labels: ["red", "blue"] },
      { id: 2, labels: ["green"] },
    ]);
    await labelled.createIndex("labels", { config: Index.labelList(), ...ready });
    expect(await labelled.listIndices()).toMatchObject([{ indexType: "LabelList" }]);
    expect(await labelled.countRows("array_has_any(labels, ['green', 'blue'])")).toBe(2);
  });

  it("the client builds full-text indexes with their parameters", async () => {
    const config = Index.fts({
      baseTokenizer: "ngram",
      ngramMinLength: 2,
      ngramMaxLength: 4,
      stem: false,
      removeStopWords: false,
      withPosition: true,
    });
    await table.createIndex("name", { config, ...ready });
    expect(await table.listIndices()).toMatchObject([{ name: "name_idx", indexType: "FTS" }]);
    const tokens = await table.tokenize("item", { indexName: "name_idx" });
    expect(tokens.map(({ text }) => text)).toContain("tem");
    await table.dropIndex("name_idx");
  });

  it("the client follows, awaits and replaces an index build", async () => {
    const job = await table.createIndexAsync("id", { config: Index.btree() });
    await job.wait();
    expect(await job.status()).toMatch(/finished|succeeded/);
    await table.waitForIndex(["id_idx"], 60);
    await expect(
      table.createIndex("id", { config: Index.bitmap(), replace: false }),
    ).rejects.toThrow(/already exists/);
    await table.createIndex("id", { config: Index.bitmap(), ...ready });
    expect(await table.listIndices()).toMatchObject([{ indexType: "Bitmap" }]);
    expect(await remote.database.cancelJob("nobody")).toBe(false);
    await table.prewarmIndex("id_idx");
    await table.prewarmData(["id"]);
    await expect(table.prewarmIndex("nobody")).rejects.toThrow(/nobody/);
    await table.dropIndex("id_idx");
  });

  it("the client gets an error for an index that cannot be built", async () => {
    await expect(table.createIndex("nope", { config: Index.btree() })).rejects.toThrow(/nope/);
    await expect(table.createIndex("name", { config: Index.ivfFlat() })).rejects.toThrow();
    await expect(table.dropIndex("nobody")).rejects.toThrow(/nobody/);
    expect(await table.indexStats("nobody")).toBeUndefined();
    expect(await table.listIndices()).toEqual([]);
  });
});
