import { expect, it } from "vitest";
import type { CatalogDatabase } from "../../src/catalog/database.js";
import { TransactionStore } from "../../src/transactions/store.js";

it("a database that cannot begin to write fails the records of then, and none that come later", async () => {
  let reachable = false;
  let writes = 0;
  const db = {
    kind: "postgres",
    async note() {
      writes++;
      await Promise.resolve();
      if (!reachable) throw new Error("no connection");
    },
  } as unknown as CatalogDatabase;
  const store = new TransactionStore(db);
  const record = () => store.record({ properties: {} });
  const lost = await Promise.allSettled([record(), record()]);
  expect(lost.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(writes).toBe(1);
  reachable = true;
  expect(await record()).toEqual(expect.any(String));
  expect(writes).toBe(2);
});

it("waits for the disk with the record of a job, which is still to be done, and with no other", async () => {
  const calls: string[] = [];
  const db = {
    kind: "sqlite",
    write: async () => void calls.push("write"),
    note: async () => void calls.push("note"),
  } as unknown as CatalogDatabase;
  const store = new TransactionStore(db);
  await store.record({ properties: {} });
  expect(await store.record({ properties: {}, job: "j" })).toBe("j");
  expect(calls).toEqual(["note", "write"]);
});
