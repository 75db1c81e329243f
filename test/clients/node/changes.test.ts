import { describe, expect, it } from "vitest";
import { ids, items, newTable } from "./items.js";
import { setupDatabase } from "./setup-database.js";

describe("@lancedb/lancedb 0.39: columns, versions, tags and branches", () => {
  const remote = setupDatabase();
  const tableOf = (count: number) => newTable(remote.database, items(count));

  it("the client adds, alters and drops columns", async () => {
    const table = await tableOf(3);
    const added = await table.addColumns([{ name: "twice", valueSql: "price * 2" }]);
    expect(added.version).toBe(2);
    await table.alterColumns([{ path: "twice", rename: "double", dataType: "float" }]);
    expect(await table.countRows("double = id")).toBe(3);
    await table.addColumns({ computed: [{ name: "later", valueSql: "price * 3" }] });
    await table.dropColumns(["double", "later"]);
    const { fields } = await table.schema();
    expect(fields.map(({ name }) => name)).toEqual(["id", "name", "category", "price", "vector"]);
    await expect(table.dropColumns(["nope"])).rejects.toThrow(/nope/);
    await expect(table.alterColumns([{ path: "nope", rename: "x" }])).rejects.toThrow(/nope/);
  });

  it("the client changes field metadata", async () => {
    const table = await tableOf(1);
    await table.updateFieldMetadata([{ path: "price", metadata: { unit: "EUR", more: "1" } }]);
    await table.updateFieldMetadata([{ path: "price", metadata: { more: null } }]);
    const { fields } = await table.schema();
    const price = fields.find(({ name }) => name === "price");
    expect(Object.fromEntries(price?.metadata ?? [])).toEqual({ unit: "EUR" });
  });

  it("the client lists, checks out and restores versions", async () => {
    const table = await tableOf(2);
    await table.add(items(1, 2));
    await table.add(items(1, 3));
    const versions = await table.listVersions();
    expect(versions.map(({ version }) => version).sort()).toEqual([1, 2, 3]);
    expect(await table.version()).toBe(3);
    await table.checkout(1);
    expect(await table.version()).toBe(1);
    expect(await ids(table)).toEqual([0, 1]);
    await expect(table.add(items(1, 9))).rejects.toThrow();
    await table.restore();
    expect(await table.version()).toBe(4);
    expect(await ids(table)).toEqual([0, 1]);
    await table.checkout(3);
    await table.checkoutLatest();
    expect(await table.countRows()).toBe(2);
    await expect(table.checkout(99)).rejects.toThrow();
    const pinned = await remote.database.openTable(table.name, [], { version: 2 });
    expect(await pinned.countRows()).toBe(3);
  });

  it("the client manages tags", async () => {
    const table = await tableOf(2);
    await table.add(items(1, 2));
    const tags = await table.tags();
    await tags.create("first", 1);
    await expect(tags.create("first", 2)).rejects.toThrow(/already/);
    await expect(tags.create("new", 99)).rejects.toThrow();
    expect(await tags.getVersion("first")).toBe(1);
    await table.checkout("first");
    expect(await table.countRows()).toBe(2);
    await table.checkoutLatest();
    await tags.update("first", 2);
    expect(await tags.list()).toMatchObject({ first: { version: 2 } });
    await tags.delete("first");
    await expect(tags.getVersion("first")).rejects.toThrow();
    expect(await tags.list()).toEqual({});
  });

  it("the client reads and writes branches", async () => {
    const table = await tableOf(3);
    const branches = await table.branches();
    const dev = await branches.create("dev");
    expect(dev.currentBranch()).toBe("dev");
    await dev.add(items(2, 3));
    await dev.delete("id = 0");
    expect((await dev.update({ where: "id = 1", values: { name: "x" } })).rowsUpdated).toBe(1);
    expect(await ids(dev)).toEqual([1, 2, 3, 4]);
    expect(await ids(table)).toEqual([0, 1, 2]);
    expect(Object.keys(await branches.list())).toEqual(["dev"]);
    expect(await (await branches.checkout("dev")).countRows()).toBe(4);
    await expect(branches.create("dev")).rejects.toThrow(/exists/);
    const nested = await branches.create("nested", "dev");
    expect(await ids(nested)).toEqual([1, 2, 3, 4]);
    await nested.addColumns([{ name: "twice", valueSql: "price * 2" }]);
    expect((await branches.diff("nested")).addedColumns).toMatchObject([{ name: "twice" }]);
    expect((await branches.cherryPick("dev", true)).status).toBe("failed");
    await branches.delete("nested");
    await branches.delete("dev");
    expect(await branches.list()).toEqual({});
  });
});
