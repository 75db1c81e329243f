import { describe, expect, it } from "vitest";
import type { TableRecord } from "../../src/catalog/catalog.js";
import { removeOrphanedTables } from "../../src/catalog/tables/orphaned-table-removal.js";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { describeOnEachDatabase, makeTable, quiet } from "./catalog-databases.js";

const nothing = { properties: {}, storageOptions: {}, creator: null };

async function makeClone(
  { catalog }: Pick<OpenCatalog, "catalog">,
  name: string,
  source: TableRecord,
): Promise<TableRecord> {
  const clone = await catalog.reserveTable([name], { ...nothing, source });
  await catalog.activateTable(clone.key);
  return clone;
}

/** An engine that removes nothing and reports which files and tags it was asked to remove. */
function recordingEngine() {
  const removed: string[] = [];
  const tags: string[] = [];
  const engine = {
    async removeTable(location: string) {
      removed.push(location);
      return [];
    },
    table: (location: string) => ({
      async deleteTag(tag: string) {
        tags.push(`${location} ${tag}`);
      },
    }),
  };
  return { engine, removed, tags };
}

describe("the records of shallow clones", () => {
  describeOnEachDatabase((newCatalog) => {
    it("keep the files of a dropped source until the last clone is removed", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const source = await makeTable(store, ["source"]);
      const clones = [await makeClone(store, "a", source), await makeClone(store, "b", source)];
      const tagOf = ({ key }: TableRecord) => `joust-clone-${key}`;
      expect(await catalog.cloneSource(clones[0]?.location ?? "")).toEqual({
        location: source.location,
        tag: tagOf(clones[0] as TableRecord),
      });
      await catalog.dropTable(["source"]);
      await catalog.orphanTable(source.key);
      const { engine, removed, tags } = recordingEngine();
      const removal = { catalog, engine, storageOptions: {}, log: quiet };
      for (const clone of clones) {
        expect(await catalog.hasClones(source.location)).toBe(true);
        await removeOrphanedTables(removal);
        expect(removed).not.toContain(source.location);
        await catalog.dropTable(clone.id);
        await catalog.orphanTable(clone.key);
        await removeOrphanedTables(removal);
        expect(removed).toContain(clone.location);
        expect(tags).toContain(`${source.location} ${tagOf(clone)}`);
      }
      expect(await catalog.hasClones(source.location)).toBe(false);
      await removeOrphanedTables(removal);
      expect(removed).toContain(source.location);
    });

    it("keep the files of a chain of dropped tables", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const first = await makeTable(store, ["first"]);
      const middle = await makeClone(store, "middle", first);
      const last = await makeClone(store, "last", middle);
      for (const { id, key } of [first, middle]) {
        await catalog.dropTable(id);
        await catalog.orphanTable(key);
      }
      expect(await catalog.claimOrphanedTables()).toEqual([]);
      await catalog.dropTable(["last"]);
      await catalog.orphanTable(last.key);
      const { engine, removed } = recordingEngine();
      const removal = { catalog, engine, storageOptions: {}, log: quiet };
      for (let round = 0; round < 3; round++) await removeOrphanedTables(removal);
      expect(removed).toEqual([last.location, middle.location, first.location]);
    });

    it("are not made for a source that is dropped", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const source = await makeTable(store, ["source"]);
      await catalog.dropTable(["source"]);
      await makeTable(store, ["source"]);
      const refused = catalog.reserveTable(["clone"], { ...nothing, source });
      await expect(refused).rejects.toMatchObject({ code: 4 });
      expect(await catalog.hasClones(source.location)).toBe(false);
      await makeTable(store, ["clone"]);
    });

    it("never let a clone be reserved of a source that a concurrent drop removes", async () => {
      const open = newCatalog();
      const [first, second] = [await open.open(), await open.open()];
      for (let round = 0; round < 20; round++) {
        const source = await makeTable(first, [`source${round}`]);
        const [cloned, dropped] = await Promise.allSettled([
          second.catalog.reserveTable([`clone${round}`], { ...nothing, source }),
          first.catalog.dropTable(source.id),
        ]);
        expect(dropped.status).toBe("fulfilled");
        const isKept = await first.catalog.hasClones(source.location);
        expect(isKept).toBe(cloned.status === "fulfilled");
        if (cloned.status === "rejected") expect(cloned.reason).toMatchObject({ code: 4 });
      }
    });

    it("lead to the tag that a crashed server left", async () => {
      const open = newCatalog();
      const crashed = await open.open();
      const source = await makeTable(crashed, ["source"]);
      const clone = await crashed.catalog.reserveTable(["clone"], { ...nothing, source });
      await crashed.close();
      const { catalog } = await open.open();
      const { engine, removed, tags } = recordingEngine();
      await removeOrphanedTables({ catalog, engine, storageOptions: {}, log: quiet });
      expect(removed).toEqual([clone.location]);
      expect(tags).toEqual([`${source.location} joust-clone-${clone.key}`]);
      expect(await catalog.hasClones(source.location)).toBe(false);
      expect(await catalog.cloneSource(clone.location)).toBeUndefined();
    });

    it("stay while their tables are deregistered and return with them", async () => {
      const store = await newCatalog().open();
      const { catalog } = store;
      const source = await makeTable(store, ["source"]);
      const clone = await makeClone(store, "clone", source);
      await catalog.changeTables({ deregister: [["source"], ["clone"]] });
      expect(await catalog.hasClones(source.location)).toBe(true);
      const again = { properties: {}, creator: null, location: source.location, id: ["again"] };
      const { table } = await catalog.registerTable(again, { replace: false });
      await catalog.dropTable(["again"]);
      await catalog.orphanTable(table.key);
      expect(await catalog.claimOrphanedTables()).toEqual([]);
      const back = { properties: {}, creator: null, location: clone.location, id: ["clone"] };
      const registered = await catalog.registerTable(back, { replace: false });
      await catalog.dropTable(["clone"]);
      await catalog.forgetTable(registered.table.key);
      expect((await catalog.claimOrphanedTables()).map(({ key }) => key)).toEqual([table.key]);
    });
  });
});
