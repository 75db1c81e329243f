import { describe, expect, it } from "vitest";
import { DIMENSION, ids, items, newTable } from "./items.js";
import { setupDatabase } from "./setup-database.js";

describe("@lancedb/lancedb 0.39: rows", () => {
  const remote = setupDatabase();
  const tableOf = (count: number) => newTable(remote.database, items(count));

  it("the client adds and overwrites rows", async () => {
    const table = await tableOf(20);
    expect((await table.add(items(5, 20))).version).toBe(2);
    expect(await ids(table)).toEqual(items(25).map(({ id }) => id));
    await table.add([{ id: 99, name: "half" }]);
    const [half] = await table.query().where("id = 99").toArray();
    expect(half).toMatchObject({ id: 99, name: "half", price: null });
    await table.add(items(2), { mode: "overwrite" });
    expect(await ids(table)).toEqual([0, 1]);
    await expect(table.add([{ id: 1, nope: 2 }])).rejects.toThrow(/nope/);
  });

  it("the client counts rows", async () => {
    const table = await tableOf(50);
    expect(await table.countRows()).toBe(50);
    expect(await table.countRows("category = 'c2' and price < 10")).toBe(4);
    await expect(table.countRows("nope = 1")).rejects.toThrow(/nope/);
    expect(await table.stats()).toMatchObject({ numRows: 50, numIndices: 0 });
  });

  it("the client updates rows", async () => {
    const table = await tableOf(6);
    const some = await table.update({ where: "id < 2", values: { name: "it's first" } });
    expect(some).toMatchObject({ rowsUpdated: 2, version: 2 });
    expect((await table.update({ valuesSql: { price: "price + 1" } })).rowsUpdated).toBe(6);
    expect(await table.countRows("name = 'it''s first' and price >= 1")).toBe(2);
    const vector = Array.from({ length: DIMENSION }, (_, d) => d);
    await table.update({ where: "id = 3", values: { vector } });
    expect((await table.vectorSearch(vector).limit(1).toArray())[0]).toMatchObject({ id: 3 });
    await expect(table.update({ valuesSql: { nope: "1" } })).rejects.toThrow(/nope|404/);
  });

  it("the client deletes rows", async () => {
    const table = await tableOf(20);
    expect(await table.delete("id < 10")).toMatchObject({ version: 2, numDeletedRows: 10 });
    expect(await table.countRows()).toBe(10);
    await expect(table.delete("nope = 1")).rejects.toThrow(/nope/);
  });

  it("the client merges rows in every form", async () => {
    const table = await tableOf(4);
    const upsert = table.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll();
    expect(await upsert.execute(items(3, 2))).toMatchObject({
      numUpdatedRows: 2,
      numInsertedRows: 1,
      numDeletedRows: 0,
    });
    const insert = table.mergeInsert("id").whenNotMatchedInsertAll().useIndex(false);
    expect(await insert.execute(items(3, 4), { timeoutMs: 60_000 })).toMatchObject({
      numUpdatedRows: 0,
      numInsertedRows: 2,
    });
    const dearer = items(2).map((item) => ({ ...item, price: 0.25 }));
    const update = table
      .mergeInsert("id")
      .whenMatchedUpdateAll({ where: "target.price < source.price" });
    expect(await update.execute(dearer)).toMatchObject({ numUpdatedRows: 1 });
    const remove = table
      .mergeInsert(["id", "name"])
      .whenNotMatchedBySourceDelete({ where: "id > 4" });
    expect(await remove.execute(items(1))).toMatchObject({ numDeletedRows: 2 });
    expect(await ids(table)).toEqual([0, 1, 2, 3, 4]);
    const replace = table
      .mergeInsert("id")
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .whenNotMatchedBySourceDelete();
    await replace.execute(items(2, 4));
    expect(await ids(table)).toEqual([4, 5]);
    await expect(
      table.mergeInsert("nope").whenNotMatchedInsertAll().execute(items(1)),
    ).rejects.toThrow(/nope/);
  });
});
