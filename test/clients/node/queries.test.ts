import { Index, type Table } from "@lancedb/lancedb";
import { beforeAll, describe, expect, it } from "vitest";
import { ids, items, nearest, newTable, sorted, vectorOf } from "./items.js";
import { setupDatabase } from "./setup-database.js";

const ALL = items(600);

describe("@lancedb/lancedb 0.39: queries", () => {
  const remote = setupDatabase();
  let table: Table;
  const near = (id: number) => table.vectorSearch(vectorOf(id)).nprobes(8);
  const result = async (query: { toArray(): Promise<{ id: number }[]> }) =>
    (await query.toArray()).map(({ id }) => id);

  /** 500 rows in an index of 8 partitions and 100 unindexed rows. */
  beforeAll(async () => {
    table = await newTable(remote.database, ALL.slice(0, 500));
    await table.createIndex("vector", {
      config: Index.ivfFlat({ numPartitions: 8 }),
      waitTimeoutSeconds: 60,
    });
    await table.add(ALL.slice(500));
  });

  it("the client finds the nearest rows", async () => {
    expect(await result(near(42).limit(5))).toEqual(nearest(ALL, 42, 5));
    const [first] = await near(42).limit(1).toArray();
    expect(first._distance).toBeCloseTo(0, 5);
    expect(await table.vectorSearch(vectorOf(42)).toArray()).toHaveLength(10);
  });

  it("the client filters before and after a vector search", async () => {
    const c1 = ALL.filter(({ id }) => id % 5 === 1);
    expect(await result(near(42).where("category = 'c1'").limit(4))).toEqual(nearest(c1, 42, 4));
    const after = await result(near(42).where("category = 'c1'").postfilter().limit(30));
    expect(after).toEqual(nearest(ALL, 42, 30).filter((id) => id % 5 === 1));
  });

  it("the client can use every option of a vector search", async () => {
    const exact = nearest(ALL, 42, 5);
    expect(await result(near(42).bypassVectorIndex().limit(5))).toEqual(exact);
    expect(await result(near(42).refineFactor(3).limit(5))).toEqual(exact);
    expect(await result(near(42).column("vector").limit(5))).toEqual(exact);
    expect(await result(near(42).limit(3).offset(2))).toEqual(exact.slice(2));
    const probes = table.vectorSearch(vectorOf(42)).minimumNprobes(1).maximumNprobes(8);
    expect((await result(probes.limit(5)))[0]).toBe(42);
    expect(await result(near(550).fastSearch().limit(3))).toEqual(
      nearest(ALL.slice(0, 500), 550, 3),
    );
    const cosine = await near(42).distanceType("cosine").limit(2).toArray();
    expect(cosine[0]).toMatchObject({ id: 42 });
    expect(cosine[0]._distance).toBeCloseTo(0, 5);
    const close = await near(42).distanceRange(0, 0.01).limit(9).toArray();
    expect(close.map(({ id }) => id)).toEqual([42]);
  });

  it("the client sends several query vectors at once", async () => {
    const query = near(42).addQueryVector(vectorOf(550)).limit(2);
    const rows = await query.select(["id"]).toArray();
    const by = (index: number) =>
      rows.filter(({ query_index }) => query_index === index).map(({ id }) => id);
    expect(by(0)).toEqual(nearest(ALL, 42, 2));
    expect(by(1)).toEqual(nearest(ALL, 550, 2));
  });

  it("the client selects columns and expressions", async () => {
    const [row] = await near(3).select(["name", "id"]).limit(1).toArray();
    expect({ ...row }).toMatchObject({ name: "item 3", id: 3 });
    expect(Object.keys(row)).toEqual(["name", "id", "_distance"]);
    const page = await table.query().select({ twice: "id * 2" }).limit(2).offset(3).toArray();
    expect(page.map(({ twice }) => twice)).toEqual([6, 8]);
    const map = new Map([["shout", "upper(name)"]]);
    const shouted = await table.query().where("id = 7").select(map).toArray();
    expect(shouted[0]?.shout).toBe("ITEM 7");
  });

  it("the client gets plain queries in a given order", async () => {
    expect(await ids(table)).toEqual(ALL.map(({ id }) => id));
    expect(sorted(await table.query().where("id >= 590").toArray())).toEqual(
      ALL.slice(590).map(({ id }) => id),
    );
    const ordered = table
      .query()
      .where("id < 10")
      .orderBy([
        { columnName: "category", ascending: false },
        { columnName: "id", ascending: true },
      ]);
    expect(await result(ordered)).toEqual([4, 9, 3, 8, 2, 7, 1, 6, 0, 5]);
  });

  it("the client takes rows by id and by offset", async () => {
    const rows = await near(5).withRowId().limit(2).toArray();
    const taken = await table.takeRowIds(rows.map(({ _rowid }) => _rowid)).toArray();
    expect(sorted(taken)).toEqual(sorted(rows));
    expect(sorted(await table.takeOffsets([7, 3]).select(["id"]).toArray())).toEqual([3, 7]);
  });

  it("the client streams batches", async () => {
    let rows = 0;
    for await (const batch of table.query().select(["id"])) rows += batch.numRows;
    expect(rows).toBe(600);
  });

  it("the client explains and analyzes a query", async () => {
    expect(await near(1).limit(3).explainPlan(true)).toMatch(/ANN/);
    expect(await near(1).bypassVectorIndex().limit(3).explainPlan()).toMatch(/KNN/);
    expect(await near(1).limit(3).analyzePlan()).toMatch(/output_rows/);
  });

  it("the client gets an error for an invalid query", async () => {
    await expect(near(1).where("nope = 1").toArray()).rejects.toThrow(/nope/);
    await expect(near(1).select(["nope"]).toArray()).rejects.toThrow(/nope/);
    await expect(table.vectorSearch([1, 2]).toArray()).rejects.toThrow(/dimension: 2/);
  });
});
