import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  removeDroppedTables,
  startRemovalAcknowledgements,
} from "../../src/tables/table-removal.js";
import { describeOnEachDatabase, makeTable, quiet } from "../catalog/catalog-databases.js";
import { waitFor } from "../harness/wait-for.js";

/** A server without writes. `jobsEnd`: whether its jobs end in time after they are cancelled. */
function makeServer(jobsEnd: boolean) {
  const cancelTable = vi.fn(async () => jobsEnd);
  const removed: string[] = [];
  const engine = {
    closeTable() {},
    async removeTable(location: string) {
      removed.push(location);
      return [];
    },
    table: () => ({ async deleteTag() {} }),
  };
  const threads = { async endTableWork() {} };
  return {
    cancelTable,
    removed,
    services: {
      engine,
      threads,
      jobs: { cancelTable },
      config: { storageOptions: {} },
      log: quiet,
    },
  };
}

describe("a dropped table", () => {
  describeOnEachDatabase((newCatalog) => {
    it("is acknowledged only after the jobs of the server have ended", async () => {
      const test = newCatalog();
      const [first, second] = [await test.open(), await test.open()];
      const table = await makeTable(first, ["t"]);
      const { services, cancelTable } = makeServer(false);
      const stop = startRemovalAcknowledgements({ ...services, catalog: second.catalog });
      onTestFinished(stop);
      await first.catalog.dropTable(["t"]);
      await waitFor("the server tries twice", () => cancelTable.mock.calls.length >= 2);
      const pending = () => second.catalog.removalsToAcknowledge();
      expect((await pending()).map(({ key }) => key)).toEqual([table.key]);
      cancelTable.mockResolvedValue(true);
      await waitFor("the removal is acknowledged", async () => (await pending()).length === 0);
    });

    it("keeps its files while a job of the dropping server runs, and is removed later", async () => {
      const { catalog, ...store } = await newCatalog().open();
      const table = await makeTable({ catalog }, ["t"]);
      const record = await catalog.dropTable(["t"]);
      const running = makeServer(false);
      await removeDroppedTables({ ...running.services, catalog }, [record]);
      expect(running.removed).toEqual([]);
      const [orphaned] = await catalog.claimOrphanedTables();
      expect(orphaned?.key).toBe(table.key);
      const ended = makeServer(true);
      await removeDroppedTables({ ...ended.services, catalog }, [record]);
      expect(ended.removed).toEqual([table.location]);
      await store.close();
    });
  });
});
