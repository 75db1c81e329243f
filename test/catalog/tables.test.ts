import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ErrorCode } from "../../src/foundation/errors.js";
import { describeOnEachDatabase, makeTable } from "./catalog-databases.js";

const nothing = { properties: {}, storageOptions: {}, creator: null };

describe("tables", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    it("are visible with all their options once they are published", async () => {
      const { catalog } = await newCatalog().open();
      const options = { properties: { a: "1" }, storageOptions: { region: "x" }, creator: "c" };
      const reserved = await catalog.reserveTable(["t"], options);
      expect(reserved).toMatchObject({ id: ["t"], ...options });
      await expect(catalog.table(["t"])).rejects.toMatchObject({ code: ErrorCode.TableNotFound });
      expect(await catalog.listTables([], {})).toEqual({ items: [] });
      await catalog.activateTable(reserved.key);
      expect(await catalog.table(["t"])).toEqual(reserved);
      expect(await catalog.tableByKey(reserved.key)).toEqual(reserved);
      expect(await catalog.listTables([], {})).toEqual({ items: ["t"] });
    });

    it("reserve their name until they are released", async () => {
      const { catalog } = await newCatalog().open();
      const { key } = await catalog.reserveTable(["t"], nothing);
      const taken = { code: ErrorCode.TableAlreadyExists, message: 'table "t" already exists' };
      await expect(catalog.reserveTable(["t"], nothing)).rejects.toMatchObject(taken);
      await catalog.releaseTable(key);
      const second = await catalog.reserveTable(["t"], nothing);
      await catalog.activateTable(second.key);
      await expect(catalog.reserveTable(["t"], nothing)).rejects.toMatchObject(taken);
      // Only a reserved table can be released.
      await catalog.releaseTable(second.key);
      expect(await catalog.table(["t"])).toEqual(second);
    });

    it("that are missing cause an error that distinguishes a missing namespace from a missing table", async () => {
      const { catalog } = await newCatalog().open();
      await catalog.createNamespace(["n"], "create", {});
      for (const operation of [
        (id: string[]) => catalog.table(id),
        (id: string[]) => catalog.dropTable(id),
        (id: string[]) => catalog.renameTable(id, ["new"]),
      ]) {
        await expect(operation(["t"])).rejects.toMatchObject({ code: ErrorCode.TableNotFound });
        await expect(operation(["n", "t"])).rejects.toMatchObject({
          code: ErrorCode.TableNotFound,
        });
        await expect(operation(["x", "t"])).rejects.toMatchObject({
          code: ErrorCode.NamespaceNotFound,
        });
        await expect(operation([])).rejects.toMatchObject({ code: ErrorCode.InvalidInput });
      }
      await expect(catalog.reserveTable(["x", "t"], nothing)).rejects.toMatchObject({ code: 1 });
      expect(catalog.tableSync(["t"])).toBeUndefined();
    });

    it("keep their location until their files are removed", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const first = await makeTable(store, ["t"]);
      expect(await catalog.dropTable(["t"])).toEqual(first);
      await expect(catalog.dropTable(["t"])).rejects.toMatchObject({ code: 4 });
      const second = await makeTable(store, ["t"]);
      expect(second.location).toMatch(/\/t-[0-9a-f]{8}\.lance$/);
      await catalog.forgetTable(first.key);
      await catalog.dropTable(["t"]);
      const third = await makeTable(store, ["t"]);
      expect(third.location).toBe(first.location);
    });

    it("are not dropped by a drop of an earlier table with the same name", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const first = await makeTable(store, ["t"]);
      expect(await catalog.dropTable(["t"], first.key)).toEqual(first);
      const second = await makeTable(store, ["t"]);
      await expect(catalog.dropTable(["t"], first.key)).rejects.toMatchObject({ code: 4 });
      expect(await catalog.dropTable(["t"], second.key)).toEqual(second);
    });

    it("never use a directory that already exists", async () => {
      const open = newCatalog();
      const store = await open.open();
      mkdirSync(join(open.root, "t.lance"));
      const { location } = await makeTable(store, ["t"]);
      expect(location).toMatch(/\/t-[0-9a-f]{8}\.lance$/);
    });

    it("are renamed within and between namespaces without moving files", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const table = await makeTable(store, ["old"], { p: "1" });
      await catalog.createNamespace(["n"], "create", {});
      const renamed = await catalog.renameTable(["old"], ["n", "new"]);
      expect(renamed).toEqual({ ...table, id: ["n", "new"] });
      expect(await catalog.table(["n", "new"])).toEqual(renamed);
      await expect(catalog.table(["old"])).rejects.toMatchObject({ code: 4 });
      // The old name is free, the location is not.
      expect((await makeTable(store, ["old"])).location).not.toBe(table.location);
    });

    it("cannot be renamed to a taken name, including their own", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      await makeTable(store, ["a"]);
      await makeTable(store, ["b"]);
      await catalog.reserveTable(["making"], nothing);
      for (const taken of ["a", "b", "making"]) {
        await expect(catalog.renameTable(["a"], [taken])).rejects.toMatchObject({ code: 5 });
      }
      await expect(catalog.renameTable(["a"], ["x", "a"])).rejects.toMatchObject({ code: 1 });
      await expect(catalog.renameTable(["none"], ["none"])).rejects.toMatchObject({ code: 4 });
      await expect(catalog.renameTable(["a"], ["b/c"])).rejects.toMatchObject({ code: 13 });
      await expect(catalog.renameTable(["a"], [])).rejects.toMatchObject({ code: 13 });
    });

    it("take the name of a table that they replace, or nothing changes", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const old = await makeTable(store, ["view"]);
      const filled = await makeTable(store, ["filling"]);
      const other = await makeTable(store, ["other"]);
      const failures = [
        [["filling"], ["other"], old.key, 5],
        [["filling"], ["none", "view"], old.key, 1],
        [["none"], ["view"], old.key, 4],
      ] as const;
      for (const [id, target, key, code] of failures) {
        await expect(catalog.replaceTable(id, target, key)).rejects.toMatchObject({ code });
      }
      for (const table of [old, filled, other]) {
        expect(await catalog.table(table.id)).toEqual(table);
      }
      expect(await catalog.replaceTable(["filling"], ["view"], old.key)).toEqual(old);
      expect(await catalog.table(["view"])).toEqual({ ...filled, id: ["view"] });
      await expect(catalog.table(["filling"])).rejects.toMatchObject({ code: 4 });
      expect(await catalog.tableByKey(old.key)).toBeUndefined();
      // The replaced table is gone meanwhile.
      expect(await catalog.replaceTable(["view"], ["free"], old.key)).toBeUndefined();
      expect(await catalog.table(["free"])).toEqual({ ...filled, id: ["free"] });
    });

    it("accept new properties until they are dropped", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const { key } = await makeTable(store, ["t"], { a: "1" });
      await catalog.setTableProperties(key, { b: "2" });
      expect((await catalog.table(["t"])).properties).toEqual({ b: "2" });
      await catalog.dropTable(["t"]);
      await expect(catalog.setTableProperties(key, {})).rejects.toMatchObject({ code: 14 });
    });

    it("keep properties that are set concurrently", async () => {
      const open = newCatalog();
      const store = await open.open();
      const other = await open.open("tool");
      const { key } = await makeTable(store, ["t"], { a: "0", kept: "1" });
      const names = Array.from({ length: 20 }, (_, n) => `p${n}`);
      await Promise.all(
        names.map((name, n) =>
          (n % 2 ? store : other).catalog.mergeTableProperties(key, { a: "1", [name]: "2" }),
        ),
      );
      const all = { a: "1", kept: "1", ...Object.fromEntries(names.map((name) => [name, "2"])) };
      expect((await store.catalog.table(["t"])).properties).toEqual(all);
      expect(await store.catalog.mergeTableProperties(key, { a: "3" })).toEqual({ ...all, a: "3" });
      await store.catalog.dropTable(["t"]);
      await expect(store.catalog.mergeTableProperties(key, {})).rejects.toMatchObject({ code: 14 });
    });

    it("in child namespaces get the location that LanceDB expects", async () => {
      const store = await newCatalog().open();
      await store.catalog.createNamespace(["a"], "create", {});
      await store.catalog.createNamespace(["a", "b c"], "create", {});
      const { location } = await makeTable(store, ["a", "b c", "t"]);
      expect(location).toMatch(/\/[0-9a-f]{8}_a\$b_c\$t$/);
    });

    it(`${kind === "sqlite" ? "are read synchronously" : "are read with a query each time"}`, async () => {
      const store = await newCatalog().open();
      const table = await makeTable(store, ["t"]);
      expect(store.catalog.tableSync(["t"])).toEqual(kind === "sqlite" ? table : undefined);
      await store.catalog.renameTable(["t"], ["u"]);
      expect(store.catalog.tableSync(["t"])).toBeUndefined();
      await expect(store.catalog.table(["t"])).rejects.toMatchObject({ code: 4 });
    });
  });
});
