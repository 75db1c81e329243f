import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { describeOnEachDatabase, makeTable } from "../catalog/catalog-databases.js";

/** Longer than the interval at which a server polls for a lock. */
const A_WHILE = 150;

describe("the lock on the tags and branches of a table", () => {
  describeOnEachDatabase((newCatalog) => {
    it("is held by one server at a time", async () => {
      const open = newCatalog();
      const [first, second] = [(await open.open()).catalog, await open.open()];
      const { key } = await makeTable(second, ["t"]);
      const other = await makeTable(second, ["other"]);
      const steps: string[] = [];
      await first.lockReferences(key);
      const waiting = second.catalog.lockReferences(key).then(() => steps.push("second has it"));
      // The lock of another table is free.
      await second.catalog.lockReferences(other.key);
      await delay(A_WHILE);
      steps.push("first has it");
      first.unlockReferences(key);
      await waiting;
      expect(steps).toEqual(["first has it", "second has it"]);
    });

    it("is shared by the requests of one server without starving other servers", async () => {
      const open = newCatalog();
      const [first, second] = [(await open.open()).catalog, await open.open()];
      const { key } = await makeTable(second, ["t"]);
      await Promise.all([first.lockReferences(key), first.lockReferences(key)]);
      let has = false;
      const waiting = second.catalog.lockReferences(key).then(() => {
        has = true;
      });
      first.unlockReferences(key);
      await delay(A_WHILE);
      expect(has).toBe(false);
      // A server with continuous requests.
      let stop = false;
      const busy = Array.from({ length: 3 }, async (_, n) => {
        await delay(n * 7);
        while (!stop) {
          await first.lockReferences(key);
          await delay(20);
          first.unlockReferences(key);
        }
      });
      first.unlockReferences(key);
      await waiting;
      stop = true;
      second.catalog.unlockReferences(key);
      await Promise.all(busy);
    });

    it("is released when its server ends", async () => {
      const open = newCatalog();
      const [first, second] = [await open.open(), await open.open()];
      const { key } = await makeTable(second, ["t"]);
      await first.catalog.lockReferences(key);
      await first.close();
      await second.catalog.lockReferences(key);
    });

    it("cannot be taken for a dropped table and is removed with the table", async () => {
      const open = newCatalog();
      const [first, second] = [(await open.open()).catalog, (await open.open()).catalog];
      const { key } = await makeTable({ catalog: first }, ["t"]);
      await first.lockReferences(key);
      await first.dropTable(["t"]);
      await expect(second.lockReferences(key)).rejects.toMatchObject({ code: 14 });
      await first.forgetTable(key);
      first.unlockReferences(key);
      const again = await makeTable({ catalog: first }, ["t"]);
      await second.lockReferences(again.key);
    });
  });
});
