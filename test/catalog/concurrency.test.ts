import { describe, expect, it } from "vitest";
import { ErrorCode } from "../../src/foundation/errors.js";
import { describeOnEachDatabase, makeTable } from "./catalog-databases.js";

const nothing = { properties: {}, storageOptions: {}, creator: null };

function outcomes(results: readonly PromiseSettledResult<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const result of results) {
    const outcome = result.status === "fulfilled" ? "won" : String(result.reason.code);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

describe("concurrent changes", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    it("exactly one of 100 creates of a table succeeds", async () => {
      const { catalog } = await newCatalog().open();
      const creates = Array.from({ length: 100 }, () => catalog.reserveTable(["t"], nothing));
      const counts = outcomes(await Promise.allSettled(creates));
      expect(counts).toEqual({ won: 1, [ErrorCode.TableAlreadyExists]: 99 });
    });

    it("exactly one of 100 creates of a namespace succeeds", async () => {
      const { catalog } = await newCatalog().open();
      const creates = Array.from({ length: 100 }, () =>
        catalog.createNamespace(["n"], "create", {}),
      );
      const counts = outcomes(await Promise.allSettled(creates));
      expect(counts).toEqual({ won: 1, [ErrorCode.NamespaceAlreadyExists]: 99 });
    });

    it("exactly one of many renames to the same name succeeds and the other tables keep their names", async () => {
      const store = await newCatalog().open();
      const names = Array.from({ length: 20 }, (_, i) => `t${i}`);
      for (const name of names) await makeTable(store, [name]);
      const renames = names.map((name) => store.catalog.renameTable([name], ["new"]));
      expect(outcomes(await Promise.allSettled(renames))).toEqual({ won: 1, 5: 19 });
      expect((await store.catalog.listTables([], {})).items).toHaveLength(20);
    });

    it("a table is never left in a dropped namespace", async () => {
      const open = newCatalog();
      const { catalog } = await open.open();
      const other = (await open.open("tool")).catalog;
      for (let round = 0; round < 20; round++) {
        await catalog.createNamespace(["n"], "create", {});
        await catalog.createNamespace(["n", "m"], "create", {});
        const behavior = round % 2 ? "cascade" : "restrict";
        const results = await Promise.allSettled([
          ...Array.from({ length: 5 }, (_, i) => other.reserveTable(["n", "m", `t${i}`], nothing)),
          catalog.dropNamespace(["n", "m"], { missing: "fail", behavior }),
          ...Array.from({ length: 5 }, (_, i) => other.reserveTable(["n", "m", `u${i}`], nothing)),
        ]);
        const codes = Object.keys(outcomes(results)).filter((code) => code !== "won");
        for (const code of codes) expect(["1", "3"]).toContain(code);
        await catalog.dropNamespace(["n"], { missing: "fail", behavior: "cascade" });
      }
      expect(await catalog.listAllTables({})).toEqual({ items: [] });
    });

    it("a failing write does not fail the writes that are committed with it", async () => {
      const { catalog } = await newCatalog().open();
      const creates = ["a", "a", "b", "x/y", "c", "c"].map((name) =>
        catalog.createNamespace([name], "create", {}),
      );
      expect(outcomes(await Promise.allSettled(creates))).toEqual({ won: 3, 2: 2, 13: 1 });
      expect((await catalog.listNamespaces([], {})).items).toEqual(["a", "b", "c"]);
    });

    it("two processes see each other's changes at once", async () => {
      const open = newCatalog();
      const server = await open.open();
      const tool = await open.open("tool");
      const table = await makeTable(server, ["t"]);
      expect(await tool.catalog.table(["t"])).toEqual(table);
      for (let i = 0; i < 10; i++) {
        await tool.catalog.renameTable(["t"], ["u"]);
        await expect(server.catalog.table(["t"])).rejects.toMatchObject({ code: 4 });
        expect((await server.catalog.table(["u"])).key).toBe(table.key);
        await server.catalog.renameTable(["u"], ["t"]);
        await expect(tool.catalog.table(["u"])).rejects.toMatchObject({ code: 4 });
      }
    });

    it("several processes can create the catalog's schema at the same time", async () => {
      const open = newCatalog();
      const others = kind === "sqlite" ? "tool" : "server";
      const stores = await Promise.all([
        open.open("server"),
        ...Array.from({ length: 4 }, () => open.open(others)),
      ]);
      for (const store of stores) {
        expect(await store.catalog.describeNamespace([])).toEqual({ path: [], properties: {} });
      }
    });
  });
});
