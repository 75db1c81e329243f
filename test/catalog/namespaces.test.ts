import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { encodePath } from "../../src/catalog/path.js";
import type { SqlCatalog } from "../../src/catalog/sql-catalog.js";
import type { CatalogDatabase } from "../../src/database/database.js";
import { ErrorCode } from "../../src/foundation/errors.js";
import { describeOnEachDatabase, makeTable } from "./catalog-databases.js";

const restrict = { missing: "fail", behavior: "restrict" } as const;
const cascade = { missing: "fail", behavior: "cascade" } as const;

/** SQLite: one more than the parameters that a statement may bind. */
const MORE_THAN_PARAMETERS = 32_767;

/** Adds `count` live tables and as many adopted namespaces to the namespace "a". */
async function fillNamespace(catalog: SqlCatalog, count: number): Promise<void> {
  const db: CatalogDatabase = Reflect.get(catalog, "db");
  const numbers = sql`with recursive numbers(n) as
    (select 1 union all select n + 1 from numbers where n < ${sql.lit(count)})`;
  await db.write(async (t) => {
    await sql`insert into tables
      (key, namespace, name, location, state, properties, storage_options, owner, created_at)
      ${numbers} select 'key' || n, 'a', 't' || n, '/a/' || n, 'live', '{}', '{}', 'x', 0
      from numbers`.execute(t);
    await sql`insert into namespaces (path, parent, name, properties, found, created_at)
      ${numbers} select ${encodePath(["a", "n"])} || n, 'a', 'n' || n, '{}', 1, 0
      from numbers`.execute(t);
  });
}

describe("namespaces", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    it("are created, described and dropped with their properties", async () => {
      const { catalog } = await newCatalog().open();
      const properties = { owner: "ada", "odd \u0000 value": "\ud800 ' \" \u001f" };
      const { namespace, emptied } = await catalog.createNamespace(["a"], "create", properties);
      expect(namespace).toEqual({ path: ["a"], properties });
      expect(emptied).toEqual([]);
      expect(await catalog.describeNamespace(["a"])).toEqual(namespace);
      expect(await catalog.dropNamespace(["a"], restrict)).toEqual({ namespace, emptied: [] });
      await expect(catalog.describeNamespace(["a"])).rejects.toMatchObject({
        code: ErrorCode.NamespaceNotFound,
        message: 'namespace "a" does not exist',
      });
    });

    it("include the root, which always exists", async () => {
      const { catalog } = await newCatalog().open();
      expect(await catalog.describeNamespace([])).toEqual({ path: [], properties: {} });
      await expect(catalog.createNamespace([], "create", {})).rejects.toMatchObject({ code: 2 });
      expect(await catalog.createNamespace([], "exist_ok", { a: "b" })).toEqual({
        namespace: { path: [], properties: {} },
        emptied: [],
      });
      await expect(catalog.createNamespace([], "overwrite", {})).rejects.toMatchObject({
        code: 13,
      });
      await expect(catalog.dropNamespace([], cascade)).rejects.toMatchObject({ code: 13 });
    });

    it("require an existing parent", async () => {
      const { catalog } = await newCatalog().open();
      for (const mode of ["create", "exist_ok", "overwrite"] as const) {
        await expect(catalog.createNamespace(["a", "b"], mode, {})).rejects.toMatchObject({
          code: ErrorCode.NamespaceNotFound,
          message: 'namespace "a" does not exist',
        });
      }
    });

    it("that exist are handled as the create mode says", async () => {
      const { catalog } = await newCatalog().open();
      await catalog.createNamespace(["a"], "create", { v: "1" });
      await expect(catalog.createNamespace(["a"], "create", { v: "2" })).rejects.toMatchObject({
        code: ErrorCode.NamespaceAlreadyExists,
      });
      const existing = await catalog.createNamespace(["a"], "exist_ok", { v: "2" });
      expect(existing.namespace.properties).toEqual({ v: "1" });
      const replaced = await catalog.createNamespace(["a"], "overwrite", { w: "3" });
      expect(replaced.namespace.properties).toEqual({ w: "3" });
      expect((await catalog.describeNamespace(["a"])).properties).toEqual({ w: "3" });
    });

    it("lose exactly their contents when they are overwritten", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      for (const path of [["a"], ["a", "b"], ["a", "b", "c"], ["ab"], ["a "]]) {
        await catalog.createNamespace(path, "create", {});
      }
      const inside = [
        await makeTable(store, ["a", "t"]),
        await makeTable(store, ["a", "b", "c", "t"]),
      ];
      const outside = [await makeTable(store, ["ab", "t"]), await makeTable(store, ["a ", "t"])];
      const { emptied } = await catalog.createNamespace(["a"], "overwrite", {});
      expect(emptied.sort((x, y) => x.id.length - y.id.length)).toEqual(inside);
      expect(await catalog.listNamespaces(["a"], {})).toEqual({ items: [] });
      expect(await catalog.listTables(["a"], {})).toEqual({ items: [] });
      for (const table of outside) expect(await catalog.table(table.id)).toEqual(table);
    });

    it("are dropped with restrict only if they are empty", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      await catalog.createNamespace(["a"], "create", {});
      await catalog.createNamespace(["a", "b"], "create", {});
      const notEmpty = { code: ErrorCode.NamespaceNotEmpty };
      await expect(catalog.dropNamespace(["a"], restrict)).rejects.toMatchObject(notEmpty);
      const table = await makeTable(store, ["a", "b", "t"]);
      await expect(catalog.dropNamespace(["a", "b"], restrict)).rejects.toMatchObject(notEmpty);
      await catalog.dropTable(table.id);
      // Its files are still being removed, which blocks nothing.
      await catalog.dropNamespace(["a", "b"], restrict);
      await catalog.reserveTable(["a", "making"], {
        properties: {},
        storageOptions: {},
        creator: null,
      });
      await expect(catalog.dropNamespace(["a"], restrict)).rejects.toMatchObject(notEmpty);
    });

    it("are dropped with cascade together with everything below", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      await catalog.createNamespace(["a"], "create", { kept: "until the end" });
      await catalog.createNamespace(["a", "b"], "create", {});
      const table = await makeTable(store, ["a", "b", "t"]);
      const reserved = await catalog.reserveTable(["a", "making"], {
        properties: {},
        storageOptions: {},
        creator: null,
      });
      const dropped = await catalog.dropNamespace(["a"], cascade);
      expect(dropped?.namespace.properties).toEqual({ kept: "until the end" });
      expect(dropped?.emptied).toEqual([table]);
      await expect(catalog.table(table.id)).rejects.toMatchObject({ code: 1 });
      await expect(catalog.activateTable(reserved.key)).rejects.toMatchObject({ code: 14 });
      await catalog.releaseTable(reserved.key);
      await catalog.forgetTable(table.key);
      expect(await catalog.listNamespaces([], {})).toEqual({ items: [] });
    });

    // Postgres runs the same code and needs half a minute for it.
    it.runIf(kind === "sqlite")(
      "lose more tables than a statement has parameters",
      {
        timeout: 60_000,
      },
      async () => {
        const { catalog } = await newCatalog().open();
        const count = MORE_THAN_PARAMETERS;
        await catalog.createNamespace(["a"], "create", {});
        await fillNamespace(catalog, count);
        const dropped = await catalog.dropNamespace(["a"], cascade);
        expect(dropped?.emptied).toHaveLength(count);
        expect(await catalog.listNamespaces([], {})).toEqual({ items: [] });
      },
    );

    it("that are missing are skipped or rejected as the mode says", async () => {
      const { catalog } = await newCatalog().open();
      for (const behavior of ["restrict", "cascade"] as const) {
        expect(await catalog.dropNamespace(["x", "y"], { missing: "skip", behavior })).toBeNull();
        await expect(
          catalog.dropNamespace(["x", "y"], { missing: "fail", behavior }),
        ).rejects.toMatchObject({ code: ErrorCode.NamespaceNotFound });
      }
    });

    it("with any allowed name are distinct, whatever delimiters and quotes the name contains", async () => {
      const { catalog } = await newCatalog().open();
      const names = [
        "a$b",
        "a",
        "a.b",
        "%",
        "_",
        "o'k",
        '"',
        "ä",
        "名前",
        "🦀",
        "A",
        "a b",
        "null",
      ];
      for (const name of names) await catalog.createNamespace([name], "create", { name });
      await catalog.createNamespace(["a", "b"], "create", {});
      const byBytes = [...names].sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
      expect((await catalog.listNamespaces([], {})).items).toEqual(byBytes);
      for (const name of names) {
        expect((await catalog.describeNamespace([name])).properties).toEqual({ name });
      }
    });
  });
});
