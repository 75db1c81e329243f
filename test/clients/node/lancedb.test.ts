import { type Connection, connect, Index, type Table } from "@lancedb/lancedb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../harness/eventually.js";
import { type Server, startServer } from "../../harness/server.js";

interface Item extends Record<string, unknown> {
  id: number;
  name: string;
  category: string;
  vector: number[];
}

/** Rows whose vectors are all different: row i is nearest to itself. */
function items(count: number, from = 0): Item[] {
  return Array.from({ length: count }, (_, offset) => {
    const id = from + offset;
    const vector = Array.from({ length: 16 }, (_, d) => Math.fround(Math.sin(id * (d + 1))));
    return { id, name: `item ${id}`, category: `c${id % 5}`, vector };
  });
}

describe("@lancedb/lancedb 0.39 in remote mode", () => {
  let server: Server;
  let database: Connection;

  beforeAll(async () => {
    server = await startServer();
    database = await connect("db://joust", { apiKey: server.key, hostOverride: server.url });
  });
  afterAll(async () => {
    database?.close();
    await server?.stop();
  });

  it("creates, lists, opens and drops tables", async () => {
    await database.createTable("one", items(3));
    await database.createEmptyTable("two", await database.openTable("one").then((t) => t.schema()));
    expect(await database.tableNames()).toEqual(["one", "two"]);
    expect(await (await database.openTable("two")).countRows()).toBe(0);
    await expect(database.createTable("one", items(1))).rejects.toThrow(/already exists/);
    await database.createTable("one", items(5), { mode: "overwrite" });
    expect(await (await database.openTable("one")).countRows()).toBe(5);
    await database.createTable("one", items(3), { existOk: true });
    expect(await (await database.openTable("one")).countRows()).toBe(5);

    await database.dropTable("two");
    expect(await database.tableNames()).toEqual(["one"]);
    await expect(database.openTable("nowhere")).rejects.toThrow(/not found/i);
    await database.dropTable("one");
    expect(await database.tableNames()).toEqual([]);
  });

  it("keeps tables in namespaces", async () => {
    await database.createNamespace(["team"]);
    await database.createNamespace(["team", "inner"]);
    expect((await database.listNamespaces()).namespaces).toEqual(["team"]);
    await database.createTable("deep", items(4), ["team", "inner"]);
    expect(await database.tableNames(["team", "inner"])).toEqual(["deep"]);
    const table = await database.openTable("deep", ["team", "inner"]);
    expect(await table.countRows()).toBe(4);
    await database.dropTable("deep", ["team", "inner"]);
    await database.dropNamespace(["team", "inner"]);
    await database.dropNamespace(["team"]);
    expect((await database.listNamespaces()).namespaces).toEqual([]);
  });

  describe("a table", () => {
    let table: Table;

    beforeAll(async () => {
      table = await database.createTable("items", items(500));
    });

    it("has a schema and counts its rows", async () => {
      const schema = await table.schema();
      expect(schema.fields.map((field) => field.name)).toEqual([
        "id",
        "name",
        "category",
        "vector",
      ]);
      expect(await table.countRows()).toBe(500);
      expect(await table.countRows("category = 'c2'")).toBe(100);
    });

    it("answers vector, filtered and plain queries", async () => {
      const [row] = items(1, 42) as [Item];
      const nearest = await table.vectorSearch(row.vector).limit(3).toArray();
      expect(nearest[0].id).toBe(42);
      expect(nearest).toHaveLength(3);

      const filtered = await table
        .vectorSearch(row.vector)
        .where("category = 'c1'")
        .select(["id", "category"])
        .limit(4)
        .toArray();
      expect(new Set(filtered.map((found) => found.category))).toEqual(new Set(["c1"]));

      const plain = await table.query().where("id >= 490").select(["id"]).toArray();
      expect(plain.map((found) => found.id).sort((a, b) => a - b)).toEqual(
        items(10, 490).map(({ id }) => id),
      );
      const page = await table.query().select({ twice: "id * 2" }).limit(2).offset(3).toArray();
      expect(page.map((found) => found.twice)).toEqual([6, 8]);
    });

    it("explains and analyzes", async () => {
      const query = table.vectorSearch((items(1)[0] as Item).vector).limit(3);
      expect(await query.explainPlan()).toMatch(/KNN/);
      expect(await query.analyzePlan()).toMatch(/output_rows/);
    });

    it("is added to and deleted from", async () => {
      const copy = await database.createTable("changing", items(20));
      await copy.add(items(5, 20));
      expect(await copy.countRows()).toBe(25);
      await copy.delete("id < 10");
      expect(await copy.countRows()).toBe(15);
      await copy.add(items(2), { mode: "overwrite" });
      expect(await copy.countRows()).toBe(2);
    });

    it("builds, lists and drops indexes", async () => {
      await table.createIndex("id", { config: Index.btree() });
      await table.createIndex("category", { config: Index.bitmap() });
      await table.createIndex("vector", {
        config: Index.ivfFlat({ numPartitions: 4, distanceType: "cosine" }),
      });
      const indices = await eventually("three indexes are built", async () => {
        const listed = await table.listIndices();
        return listed.length === 3 && listed;
      });
      expect(indices.map((index) => index.columns[0]).sort()).toEqual(["category", "id", "vector"]);

      const id = indices.find((index) => index.columns[0] === "id")?.name as string;
      const stats = await table.indexStats(id);
      expect(stats).toMatchObject({ indexType: "BTREE", numIndexedRows: 500 });
      expect(await table.indexStats("no_such_index")).toBeUndefined();
      await table.dropIndex(id);
      expect(await table.listIndices()).toHaveLength(2);
    });
  });

  it("tells a wrong key", async () => {
    const stranger = await connect("db://joust", { apiKey: "wrong", hostOverride: server.url });
    await expect(stranger.tableNames()).rejects.toThrow(/401/);
  });
});
