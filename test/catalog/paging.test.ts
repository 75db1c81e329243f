import { describe, expect, it } from "vitest";
import type { Page, PageRequest } from "../../src/catalog/catalog.js";
import { describeOnEachDatabase, makeTable } from "./catalog-databases.js";

/** Follows the page tokens to the end. */
async function walk<T>(
  list: (page: PageRequest) => Promise<Page<T>>,
  limit: number,
  between: () => Promise<unknown> = async () => {},
): Promise<T[]> {
  const items: T[] = [];
  let pageToken: string | undefined;
  do {
    const page = await list({ limit, ...(pageToken !== undefined && { pageToken }) });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.items);
    expect(page.pageToken).not.toBe(pageToken ?? "");
    pageToken = page.pageToken;
    await between();
  } while (pageToken !== undefined);
  return items;
}

describe("catalog listings", () => {
  describeOnEachDatabase((newCatalog) => {
    it("return every name once in byte order for any page size", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const names = ["Z", "a", "a-", "a0", "b", "é", "ﬀ", "🦀"];
      for (const name of [...names].reverse()) {
        await catalog.createNamespace([name], "create", {});
        await makeTable(store, [name]);
        await makeTable(store, [name, "t"]);
      }
      const all = [...names.map((name) => [name]), ...names.map((name) => [name, "t"])];
      for (const limit of [1, 2, 3, 7, 8, 9]) {
        expect(await walk((page) => catalog.listNamespaces([], page), limit)).toEqual(names);
        expect(await walk((page) => catalog.listTables([], page), limit)).toEqual(names);
        expect(await walk((page) => catalog.listAllTables(page), limit)).toEqual(all);
      }
      expect(await catalog.listTables([], {})).toEqual({ items: names });
    });

    it("neither skip nor repeat names during concurrent changes", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const fixed = Array.from({ length: 40 }, (_, i) => `t${String(i).padStart(3, "0")}`);
      for (const name of fixed) await makeTable(store, [name]);
      let round = 0;
      const seen = await walk(
        (page) => catalog.listTables([], page),
        3,
        async () => {
          round++;
          await makeTable(store, [`t${String(round).padStart(3, "0")}-new`]);
          await makeTable(store, [`a${round}`]);
          await catalog.dropTable([`a${round}`]);
        },
      );
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((name) => fixed.includes(name))).toEqual(fixed);
    });

    it("fail if the namespace does not exist", async () => {
      const { catalog } = await newCatalog().open();
      await expect(catalog.listTables(["x"], {})).rejects.toMatchObject({ code: 1 });
      await expect(catalog.listNamespaces(["x"], {})).rejects.toMatchObject({ code: 1 });
    });

    it("reject invalid limits and foreign tokens", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      await catalog.createNamespace(["n"], "create", {});
      for (const name of ["a", "b"]) {
        await makeTable(store, [name]);
        await catalog.createNamespace([name], "create", {});
      }
      const invalid = { code: 13 };
      for (const limit of [0, -1, 1.5, Number.NaN]) {
        await expect(catalog.listTables([], { limit })).rejects.toMatchObject(invalid);
      }
      const { pageToken = "" } = await catalog.listTables([], { limit: 1 });
      expect((await catalog.listTables([], { pageToken })).items).toEqual(["b"]);
      expect((await catalog.listTables([], { pageToken: "" })).items).toEqual(["a", "b"]);
      for (const forged of ["a", "%%%", "W10", `${pageToken}=`, `${pageToken}AA`, "bnVsbA"]) {
        await expect(catalog.listTables([], { pageToken: forged })).rejects.toMatchObject(invalid);
      }
      await expect(catalog.listTables(["n"], { pageToken })).rejects.toMatchObject(invalid);
      await expect(catalog.listNamespaces([], { pageToken })).rejects.toMatchObject(invalid);
      await expect(catalog.listAllTables({ pageToken })).rejects.toMatchObject(invalid);
    });
  });
});
