import { type Connection, connect, type Table } from "@lancedb/lancedb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Server, startServer } from "../../harness/server.js";

interface Item extends Record<string, unknown> {
  id: number;
  name: string;
  price: number;
}

const items = (count: number, from = 0): Item[] =>
  Array.from({ length: count }, (_, at) => ({
    id: from + at,
    name: `item ${from + at}`,
    price: (from + at) / 2,
  }));

async function ids(table: Table): Promise<number[]> {
  const rows = await table.query().select(["id"]).toArray();
  return rows.map((row) => row.id).sort((a, b) => a - b);
}

describe("@lancedb/lancedb 0.39 changes tables", () => {
  let server: Server;
  let database: Connection;
  let made = 0;
  const newTable = (count: number) => database.createTable(`table_${made++}`, items(count));

  beforeAll(async () => {
    server = await startServer();
    database = await connect("db://joust", { apiKey: server.key, hostOverride: server.url });
  });
  afterAll(async () => {
    database?.close();
    await server?.stop();
  });

  it("updates rows", async () => {
    const table = await newTable(6);
    const some = await table.update({ where: "id < 2", values: { name: "first" } });
    expect(some.rowsUpdated).toBe(2);
    expect((await table.update({ valuesSql: { price: "price + 1" } })).rowsUpdated).toBe(6);
    expect(await table.countRows("name = 'first' and price >= 1")).toBe(2);
    await expect(table.update({ valuesSql: { nope: "1" } })).rejects.toThrow(/nope|404/);
  });

  it("merges rows", async () => {
    const table = await newTable(4);
    const merged = await table
      .mergeInsert("id")
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .execute(items(3, 2));
    expect(merged).toMatchObject({ numUpdatedRows: 2, numInsertedRows: 1, numDeletedRows: 0 });
    const replaced = await table
      .mergeInsert(["id", "name"])
      .whenNotMatchedBySourceDelete({ where: "id > 3" })
      .execute(items(1));
    expect(replaced).toMatchObject({ numDeletedRows: 1 });
    expect(await ids(table)).toEqual([0, 1, 2, 3]);
  });

  it("adds, alters and drops columns", async () => {
    const table = await newTable(3);
    await table.addColumns([{ name: "twice", valueSql: "price * 2" }]);
    await table.alterColumns([{ path: "twice", rename: "double", dataType: "float" }]);
    expect(await table.countRows("double = id")).toBe(3);
    await table.dropColumns(["double"]);
    const { fields } = await table.schema();
    expect(fields.map((field) => field.name)).toEqual(["id", "name", "price"]);
  });

  it("lists versions, tags, checks out and restores", async () => {
    const table = await newTable(2);
    await table.add(items(1, 2));
    await table.add(items(1, 3));
    const versions = await table.listVersions();
    expect(versions.map(({ version }) => version).sort()).toEqual([1, 2, 3]);

    const tags = await table.tags();
    await tags.create("first", 1);
    await expect(tags.create("first", 2)).rejects.toThrow(/already/);
    await tags.update("first", 2);
    expect(await tags.getVersion("first")).toBe(2);
    expect(await tags.list()).toMatchObject({ first: { version: 2 } });

    await table.checkout("first");
    expect(await table.countRows()).toBe(3);
    await table.checkout(1);
    await table.restore();
    expect(await ids(table)).toEqual([0, 1]);
    await tags.delete("first");
    await expect(tags.getVersion("first")).rejects.toThrow();
  });

  it("works on branches", async () => {
    const table = await newTable(3);
    const branches = await table.branches();
    const dev = await branches.create("dev");
    await dev.add(items(2, 3));
    await dev.delete("id = 0");
    expect(await ids(dev)).toEqual([1, 2, 3, 4]);
    expect(await ids(table)).toEqual([0, 1, 2]);
    expect(Object.keys(await branches.list())).toEqual(["dev"]);
    expect(await (await branches.checkout("dev")).countRows()).toBe(4);
    await expect(branches.create("dev")).rejects.toThrow(/exists/);
    await branches.delete("dev");
    expect(await branches.list()).toEqual({});
  });
});
