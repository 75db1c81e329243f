import { describe, expect, it, vi } from "vitest";
import type { TableRecord } from "../../src/catalog/catalog.js";
import type { SqlCatalog } from "../../src/catalog/sql-catalog.js";
import { removeOrphanedTables } from "../../src/catalog/tables/orphaned-table-removal.js";
import type { CatalogDatabase } from "../../src/database/database.js";
import { OutcomeUnknown } from "../../src/database/sql-error.js";
import { describeOnEachDatabase, makeTable, quiet } from "./catalog-databases.js";

/** Makes all writes of a catalog fail until it is restored. */
function failWrites(catalog: SqlCatalog) {
  const db: CatalogDatabase = Reflect.get(catalog, "db");
  return vi.spyOn(db, "write").mockRejectedValue(new Error("the catalog is away"));
}

/**
 * Makes the next write of a catalog report that its connection broke during the COMMIT. `takesEffect`: whether Postgres
 * had received the COMMIT. `meanwhile` runs before the report.
 */
function loseReply(
  catalog: SqlCatalog,
  takesEffect = true,
  meanwhile: () => Promise<unknown> | undefined = () => undefined,
): void {
  const db: CatalogDatabase = Reflect.get(catalog, "db");
  const write = db.write.bind(db);
  const lost = new OutcomeUnknown(new Error("Connection terminated unexpectedly"));
  vi.spyOn(db, "write").mockImplementationOnce(async (work) => {
    const done = takesEffect
      ? write(work)
      : write((t) => work(t).then(() => Promise.reject(lost))).catch(() => {});
    await done;
    await meanwhile();
    throw lost;
  });
}

const nothing = { properties: {}, storageOptions: {}, creator: null };

/** No removal here is of a clone, whose source has a tag. */
const noTable = (): never => {
  throw new Error("no table has a tag");
};

describe("after a server ends", () => {
  describeOnEachDatabase((newCatalog) => {
    it("one other server claims its unfinished creates and drops, and their names become free", async () => {
      const open = newCatalog();
      const first = await open.open();
      await first.catalog.createNamespace(["n"], "create", {});
      const reserved = await first.catalog.reserveTable(["n", "making"], nothing);
      const dropped = await makeTable(first, ["dropped"]);
      await first.catalog.dropTable(["dropped"]);
      const live = await makeTable(first, ["live"]);
      expect(await first.catalog.claimOrphanedTables()).toEqual([]);
      await first.close();

      const { catalog } = await open.open();
      const left = await catalog.claimOrphanedTables();
      expect(left.map((table) => table.key).sort()).toEqual([reserved.key, dropped.key].sort());
      expect(new Set(left.map((table) => table.location))).toEqual(
        new Set([reserved.location, dropped.location]),
      );
      // The claim is exclusive: a concurrent claim of another server returns nothing.
      expect(await catalog.claimOrphanedTables()).toEqual([]);
      await expect(catalog.activateTable(reserved.key)).rejects.toMatchObject({ code: 14 });
      for (const table of left) await catalog.forgetTable(table.key);
      await catalog.dropNamespace(["n"], { missing: "fail", behavior: "restrict" });
      expect(await catalog.table(["live"])).toEqual(live);
    });

    it("a claimed table stays with its new owner when the former owner returns", async () => {
      const open = newCatalog();
      // A tool is not registered as a server, like a server whose lease has expired.
      const lapsed = (await open.open("tool")).catalog;
      const { catalog } = await open.open();
      const { key, location } = await lapsed.reserveTable(["t"], nothing);
      expect((await catalog.claimOrphanedTables()).map((table) => table.key)).toEqual([key]);
      expect(await lapsed.withdrawTable(key)).toBe(false);
      await catalog.forgetTable(key);
      expect((await makeTable({ catalog }, ["t"])).location).toBe(location);
      expect(await lapsed.withdrawTable(key)).toBe(false);
    });

    it("an unfinished create stays with its server when the namespace is dropped", async () => {
      const open = newCatalog();
      const maker = (await open.open("tool")).catalog;
      const { catalog } = await open.open();
      await catalog.createNamespace(["n"], "create", {});
      const { key } = await maker.reserveTable(["n", "t"], nothing);
      await catalog.dropNamespace(["n"], { missing: "fail", behavior: "cascade" });
      expect(await catalog.withdrawTable(key)).toBe(false);
      expect(await maker.withdrawTable(key)).toBe(true);
    });

    it("a file removal that failed is retried and blocks no name", async () => {
      const { catalog } = await newCatalog().open();
      const { key, location } = await catalog.reserveTable(["t"], nothing);
      await catalog.orphanTable(key);
      await makeTable({ catalog }, ["t"]);
      const removed: string[] = [];
      let failWrites = true;
      const engine = {
        async removeTable(at: string) {
          if (failWrites) throw new Error("the bucket is away");
          removed.push(at);
          return [];
        },
        table: noTable,
      };
      const removal = { catalog, engine, storageOptions: {}, log: quiet };
      await removeOrphanedTables(removal);
      expect(removed).toEqual([]);
      failWrites = false;
      await removeOrphanedTables(removal);
      await removeOrphanedTables(removal);
      expect(removed).toEqual([location]);
    });

    it("a name that could not be released while the catalog was unavailable is released later", async () => {
      const { catalog } = await newCatalog().open();
      const { key, location } = await catalog.reserveTable(["t"], nothing);
      const write = failWrites(catalog);
      await catalog.orphanTable(key);
      write.mockRestore();
      await vi.waitFor(() => makeTable({ catalog }, ["t"]), { timeout: 20_000 });
      const left = await catalog.claimOrphanedTables();
      expect(left.map((table) => table.location)).toEqual([location]);
    });

    it("a declared table accepts its first version after the catalog was unavailable", async () => {
      const { catalog } = await newCatalog().open();
      const { declared } = await catalog.changeTables({
        declare: [{ id: ["t"], properties: {}, creator: null }],
      });
      const [{ key }] = declared as [TableRecord];
      expect(await catalog.claimFirstVersion(key)).toBe(true);
      const write = failWrites(catalog);
      await catalog.releaseFirstVersion(key);
      write.mockRestore();
      await vi.waitFor(async () => expect(await catalog.claimFirstVersion(key)).toBe(true), {
        timeout: 20_000,
      });
    });

    it("a table that another server claimed is not orphaned by its former owner", async () => {
      const open = newCatalog();
      const lapsed = (await open.open("tool")).catalog;
      const { catalog } = await open.open();
      const { key } = await lapsed.reserveTable(["t"], nothing);
      expect((await catalog.claimOrphanedTables()).map((table) => table.key)).toEqual([key]);
      await lapsed.orphanTable(key);
      expect(await catalog.claimOrphanedTables()).toEqual([]);
    });

    it("a server whose lease has expired leaves the row of a table that another server claimed", async () => {
      const open = newCatalog();
      const lapsed = (await open.open("tool")).catalog;
      const { catalog } = await open.open();
      const { key, location } = await lapsed.reserveTable(["t"], nothing);
      expect((await catalog.claimOrphanedTables()).map((table) => table.key)).toEqual([key]);
      await lapsed.forgetTable(key);
      expect((await makeTable({ catalog }, ["t"])).location).not.toBe(location);
    });

    it("a server whose lease has expired leaves the files of a new table at the same location", async () => {
      const open = newCatalog();
      const lapsed = (await open.open("tool")).catalog;
      const { catalog } = await open.open();
      const { key, location } = await lapsed.reserveTable(["t"], nothing);
      const endTableWork = async () => {
        expect((await catalog.claimOrphanedTables()).map((table) => table.key)).toEqual([key]);
        await catalog.forgetTable(key);
        expect((await makeTable({ catalog }, ["t"])).location).toBe(location);
      };
      const removed: string[] = [];
      const engine = {
        async removeTable(at: string) {
          removed.push(at);
          return [];
        },
        table: noTable,
      };
      const removal = { catalog: lapsed, engine, storageOptions: {}, log: quiet, endTableWork };
      await removeOrphanedTables(removal);
      expect(removed).toEqual([]);
      expect((await catalog.table(["t"])).location).toBe(location);
    });

    it("files are removed only after this server has ended its work on the table", async () => {
      const { catalog } = await newCatalog().open();
      const { key } = await catalog.reserveTable(["t"], nothing);
      await catalog.orphanTable(key);
      const done: string[] = [];
      const endTableWork = async (table: { key: string }) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        done.push(`left ${table.key}`);
      };
      const engine = {
        async removeTable() {
          done.push("removed");
          return [];
        },
        table: noTable,
      };
      await removeOrphanedTables({ catalog, engine, storageOptions: {}, log: quiet, endTableWork });
      expect(done).toEqual([`left ${key}`, "removed"]);
    });

    it("unfinished creates of a running server are not claimed", async () => {
      const open = newCatalog();
      const first = await open.open();
      const { key } = await first.catalog.reserveTable(["t"], nothing);
      const second = await open.open("tool");
      expect(await second.catalog.claimOrphanedTables()).toEqual([]);
      await first.catalog.activateTable(key);
      expect((await second.catalog.table(["t"])).key).toBe(key);
    });
  });
});

describe("after the reply to a COMMIT was lost", () => {
  describeOnEachDatabase((newCatalog) => {
    const keysOf = (tables: readonly TableRecord[]) => tables.map(({ key }) => key);

    it("the name of a new table is free, and its files are removed", async () => {
      const { catalog } = await newCatalog().open();
      loseReply(catalog);
      const key = "reserved";
      await expect(catalog.reserveTable(["t"], { ...nothing, key })).rejects.toThrow(
        OutcomeUnknown,
      );
      await makeTable({ catalog }, ["t"]);
      expect(keysOf(await catalog.claimOrphanedTables())).toEqual([key]);
    });

    it("the files of a dropped table are removed", async () => {
      const { catalog } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["t"]);
      loseReply(catalog);
      await expect(catalog.dropTable(["t"])).rejects.toThrow(OutcomeUnknown);
      expect(keysOf(await catalog.claimOrphanedTables())).toEqual([key]);
    });

    it("the files of the tables of a dropped namespace are removed", async () => {
      const { catalog } = await newCatalog().open();
      await catalog.createNamespace(["n"], "create", {});
      const { key } = await makeTable({ catalog }, ["n", "t"]);
      const { key: reserved } = await catalog.reserveTable(["n", "making"], nothing);
      loseReply(catalog);
      const dropped = catalog.dropNamespace(["n"], { missing: "fail", behavior: "cascade" });
      await expect(dropped).rejects.toThrow(OutcomeUnknown);
      // The request that writes the reserved table removes it.
      expect(keysOf(await catalog.claimOrphanedTables())).toEqual([key]);
      expect(await catalog.withdrawTable(reserved)).toBe(true);
    });

    it("the files of a replaced table are removed", async () => {
      const { catalog } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["t"]);
      const { key: newKey } = await makeTable({ catalog }, ["new"]);
      loseReply(catalog);
      await expect(catalog.replaceTable(["new"], ["t"], key)).rejects.toThrow(OutcomeUnknown);
      expect((await catalog.table(["t"])).key).toBe(newKey);
      expect(keysOf(await catalog.claimOrphanedTables())).toEqual([key]);
    });

    it("the files of claimed tables are removed", async () => {
      const { catalog } = await newCatalog().open();
      const { key } = await catalog.reserveTable(["t"], nothing);
      await catalog.orphanTable(key);
      loseReply(catalog);
      await expect(catalog.claimOrphanedTables()).rejects.toThrow(OutcomeUnknown);
      expect(keysOf(await catalog.claimOrphanedTables())).toEqual([key]);
    });

    it("a table whose drop did not take effect can be dropped again", async () => {
      const { catalog } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["t"]);
      loseReply(catalog, false);
      await expect(catalog.dropTable(["t"])).rejects.toThrow(OutcomeUnknown);
      expect((await catalog.dropTable(["t"])).key).toBe(key);
      // The second drop removes the files.
      expect(await catalog.claimOrphanedTables()).toEqual([]);
    });

    it("a drop that succeeded in the meantime keeps its table", async () => {
      const { catalog } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["t"]);
      let second: Promise<TableRecord> | undefined;
      loseReply(catalog, false, () => {
        second = catalog.dropTable(["t"]);
        return second;
      });
      await expect(catalog.dropTable(["t"])).rejects.toThrow(OutcomeUnknown);
      expect((await second)?.key).toBe(key);
      expect(await catalog.ownsDropped(key)).toBe(true);
    });

    it("the first version of a declared table can be written", async () => {
      const { catalog } = await newCatalog().open();
      const { declared } = await catalog.changeTables({
        declare: [{ id: ["t"], properties: {}, creator: null }],
      });
      const [{ key }] = declared as [TableRecord];
      loseReply(catalog);
      await expect(catalog.claimFirstVersion(key)).rejects.toThrow(OutcomeUnknown);
      expect(await catalog.claimFirstVersion(key)).toBe(true);
      expect(await catalog.claimFirstVersion(key)).toBe(false);
      await catalog.releaseFirstVersion(key);
      expect(await catalog.claimFirstVersion(key)).toBe(true);
    });
  });
});
