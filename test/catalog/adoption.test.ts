import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { adoptTables } from "../../src/catalog/discovery/adoption.js";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { describeOnEachDatabase, makeTable, quiet, type TestCatalog } from "./catalog-databases.js";

/** A root with content set by the test; tests over HTTP cover real roots. */
class Root {
  readonly tables: { id: string[]; location: string }[] = [];
  readonly namespaces: string[][] = [];
  looks = 0;
  broken = false;

  constructor(private readonly path: string) {}

  put(id: string[], directory = `${id.join("$")}.lance`): string {
    const location = join(this.path, directory);
    mkdirSync(location, { recursive: true });
    this.tables.push({ id, location });
    return location;
  }

  async scanRoot() {
    this.looks++;
    if (this.broken) throw new Error("the bucket is away");
    return { tables: this.tables, namespaces: this.namespaces, skipped: [] };
  }

  /** An empty directory counts as a table here. */
  async contents(location: string) {
    return existsSync(location) ? "table" : "nothing";
  }
}

async function adopting(test: TestCatalog, store: OpenCatalog) {
  const root = new Root(test.root);
  const options = { engine: root, root: test.root, storageOptions: {}, log: quiet };
  return { root, start: () => adoptTables(store.catalog, options) };
}

describe("tables written by other tools", () => {
  describeOnEachDatabase((newCatalog) => {
    it("are served from the start with their namespaces", async () => {
      const test = newCatalog();
      const { root, start } = await adopting(test, await test.open());
      const location = root.put(["t"]);
      root.put(["a", "b", "t"], "0a1b2c3d_a$b$t");
      root.namespaces.push(["c", "d"]);
      const catalog = await start();
      expect(await catalog.table(["t"])).toMatchObject({ id: ["t"], location, properties: {} });
      expect((await catalog.listAllTables({})).items).toEqual([["t"], ["a", "b", "t"]]);
      expect((await catalog.listNamespaces([], {})).items).toEqual(["a", "c"]);
      expect((await catalog.listNamespaces(["c"], {})).items).toEqual(["d"]);
    });

    it("are found on lookup, and any number of misses scans the root at most once a second", async () => {
      const test = newCatalog();
      const { root, start } = await adopting(test, await test.open());
      const catalog = await start();
      root.put(["later"]);
      await new Promise((resolve) => setTimeout(resolve, 1_050));
      const begin = performance.now();
      /** One scan at the start, one for the first miss, and one for each second since then. */
      const mostLooks = () => 2 + Math.floor((performance.now() - begin) / 1_000);
      const misses = Array.from({ length: 50 }, (_, i) =>
        catalog.table([`none${i}`]).catch((error) => error.code),
      );
      expect(new Set(await Promise.all(misses))).toEqual(new Set([4]));
      expect(root.looks).toBeGreaterThanOrEqual(2);
      expect(root.looks).toBeLessThanOrEqual(mostLooks());
      expect((await catalog.table(["later"])).id).toEqual(["later"]);
      await expect(catalog.table(["none"])).rejects.toMatchObject({ code: 4 });
      expect(root.looks).toBeLessThanOrEqual(mostLooks());
    });

    it("do not take names or locations that the catalog already has", async () => {
      const test = newCatalog();
      const store = await test.open();
      const { root, start } = await adopting(test, store);
      const known = await makeTable(store, ["known"]);
      const moved = await makeTable(store, ["moved"]);
      await store.catalog.renameTable(["moved"], ["elsewhere"]);
      const dropped = await makeTable(store, ["dropped"]);
      await store.catalog.dropTable(["dropped"]);
      const reserved = await store.catalog.reserveTable(["making"], {
        properties: {},
        storageOptions: {},
        creator: null,
      });
      for (const { id, location } of [known, moved, dropped, reserved]) {
        mkdirSync(location);
        root.tables.push({ id, location });
      }
      root.put(["known"], "other-place.lance");
      root.put(["bad\nname"], "bad.lance");
      const catalog = await start();
      expect((await catalog.listTables([], {})).items).toEqual(["elsewhere", "known"]);
      expect(await catalog.table(["known"])).toEqual(known);
    });

    it("stay dropped although a manifest still lists them", async () => {
      const test = newCatalog();
      const { root, start } = await adopting(test, await test.open());
      root.namespaces.push(["a"], ["a", "b"]);
      root.tables.push({ id: ["a", "t"], location: join(test.root, "removed-long-ago") });
      const catalog = await start();
      expect((await catalog.listTables(["a"], {})).items).toEqual([]);
      await catalog.dropNamespace(["a"], { missing: "fail", behavior: "cascade" });
      await catalog.scan();
      expect((await catalog.listNamespaces([], {})).items).toEqual([]);
      root.put(["a", "new"]);
      await catalog.scan();
      expect((await catalog.listTables(["a"], {})).items).toEqual(["new"]);
    });

    it("are not adopted if their files disappear during adoption", async () => {
      const test = newCatalog();
      const { catalog } = await test.open();
      const location = join(test.root, "t.lance");
      mkdirSync(location);
      const table = {
        location,
        // Read after the files were seen and before the catalog has a row.
        get id() {
          rmSync(location, { recursive: true, force: true });
          return ["t"];
        },
      };
      const result = { tables: [table], namespaces: [] };
      const { adopted, refused } = await catalog.adopt(result, async () => "table");
      expect({ adopted, refused }).toEqual({ adopted: [], refused: [] });
      await expect(catalog.table(["t"])).rejects.toMatchObject({ code: 4 });
    });

    it("take their name before a concurrent create", async () => {
      const test = newCatalog();
      const { root, start } = await adopting(test, await test.open());
      const catalog = await start();
      root.put(["t"]);
      const nothing = { properties: {}, storageOptions: {}, creator: null };
      await expect(catalog.reserveTable(["t"], nothing)).rejects.toMatchObject({ code: 5 });
    });

    it("do not block known tables when the root cannot be listed", async () => {
      const test = newCatalog();
      const store = await test.open();
      const { root, start } = await adopting(test, store);
      const catalog = await start();
      const table = await makeTable(store, ["t"]);
      root.broken = true;
      await new Promise((resolve) => setTimeout(resolve, 1_050));
      expect((await catalog.listTables([], {})).items).toEqual(["t"]);
      expect(await catalog.table(["t"])).toEqual(table);
      await expect(catalog.table(["none"])).rejects.toMatchObject({ code: 4 });
    });
  });
});
