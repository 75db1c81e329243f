import { Table as ArrowTable, Field, Float32, Int64, Schema, vectorFromArray } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { items } from "./items.js";
import { setupDatabase } from "./setup-database.js";

describe("@lancedb/lancedb 0.39: tables and namespaces", () => {
  const remote = setupDatabase();

  it("the client creates, lists, opens and drops tables", async () => {
    const { database } = remote;
    await database.createTable("one", items(3));
    await database.createEmptyTable("two", await database.openTable("one").then((t) => t.schema()));
    expect(await database.tableNames()).toEqual(["one", "two"]);
    expect(await (await database.openTable("two")).countRows()).toBe(0);

    await database.dropTable("two");
    expect(await database.tableNames()).toEqual(["one"]);
    await expect(database.openTable("two").then((t) => t.countRows())).rejects.toThrow(/not found/);
    await expect(database.openTable("nowhere")).rejects.toThrow(/not found/i);
    await database.dropTable("nowhere");
    await (await database.dropTableAsync("one")).wait();
    expect(await database.tableNames()).toEqual([]);
  });

  it("the client creates tables in every mode", async () => {
    const { database } = remote;
    await database.createTable("modes", items(3));
    await expect(database.createTable("modes", items(1))).rejects.toThrow(/already exists/);
    await database.createTable("modes", items(5), { mode: "overwrite" });
    expect(await (await database.openTable("modes")).countRows()).toBe(5);
    await database.createTable("modes", items(3), { existOk: true });
    expect(await (await database.openTable("modes")).countRows()).toBe(5);
    await database.dropTable("modes");
  });

  it("the client creates tables from Arrow data and with options", async () => {
    const { database } = remote;
    const arrow = new ArrowTable({ id: vectorFromArray([1n, 2n], new Int64()) });
    const table = await database.createTable({ name: "arrow", data: arrow });
    expect(await table.countRows("id = 2")).toBe(1);
    expect((await table.schema()).fields[0]?.type.toString()).toBe("Int64");
    const schema = new Schema([new Field("x", new Float32(), false)]);
    const empty = await database.createEmptyTable("empty", schema);
    const [field] = (await empty.schema()).fields;
    expect([field?.name, field?.nullable, field?.type.toString()]).toEqual(["x", false, "Float32"]);
    await database.dropTable("arrow");
    await database.dropTable("empty");
  });

  it("the client pages through table names", async () => {
    const { database } = remote;
    await database.createNamespace(["pages"]);
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) await database.createTable(name, items(1), ["pages"]);
    const first = await database.listTables(["pages"], { limit: 2 });
    expect(first.tables).toEqual(["a", "b"]);
    const second = await database.listTables(["pages"], {
      limit: 9,
      pageToken: first.pageToken as string,
    });
    expect(second.tables).toEqual(["c", "d", "e"]);
    expect(second.pageToken ?? "").toBe("");
    await database.createTable("root_a", items(1));
    await database.createTable("root_b", items(1));
    expect(await database.tableNames({ limit: 1 })).toEqual(["root_a"]);
    expect(await database.tableNames({ startAfter: "root_a" })).toEqual(["root_b"]);
  });

  it("the client renames tables", async () => {
    const { database } = remote;
    await database.createNamespace(["from"]);
    await database.createNamespace(["to"]);
    await database.createTable("old", items(2), ["from"]);
    await database.renameTable("old", "new", { namespacePath: ["from"] });
    expect(await database.tableNames(["from"])).toEqual(["new"]);
    await database.renameTable("new", "moved", {
      namespacePath: ["from"],
      newNamespacePath: ["to"],
    });
    expect(await database.tableNames(["from"])).toEqual([]);
    // A new connection: the old one keeps the handle, with the old path in it.
    const fresh = await remote.connect();
    expect(await (await fresh.openTable("moved", ["to"])).countRows()).toBe(2);
    fresh.close();
  });

  it("the client uses tables in namespaces", async () => {
    const { database } = remote;
    const made = await database.createNamespace(["team"], { properties: { owner: "ann" } });
    expect(made.properties).toMatchObject({ owner: "ann" });
    await database.createNamespace(["team", "inner"]);
    expect((await database.listNamespaces(["team"])).namespaces).toEqual(["inner"]);
    expect((await database.describeNamespace(["team"])).properties).toMatchObject({ owner: "ann" });
    await expect(database.createNamespace(["team"])).rejects.toThrow(/already exists/);

    await database.createTable("deep", items(4), ["team", "inner"]);
    expect(await database.tableNames(["team", "inner"])).toEqual(["deep"]);
    const table = await database.openTable("deep", ["team", "inner"]);
    expect(await table.countRows()).toBe(4);
    await expect(database.dropNamespace(["team"])).rejects.toThrow(/not empty|409/);
    await database.dropNamespace(["team"], { behavior: "cascade" });
    await expect(database.describeNamespace(["team"])).rejects.toThrow(/not exist|404/);
  });

  it("the client reports a wrong key", async () => {
    const stranger = await remote.connect("wrong");
    await expect(stranger.tableNames()).rejects.toThrow(/401/);
  });
});
