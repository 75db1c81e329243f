import { pino } from "pino";
import { expect, it } from "vitest";
import type { Catalog } from "../../src/catalog/catalog.js";
import type { AutoRefreshes } from "../../src/cluster/auto-refreshes.js";
import type { Engine } from "../../src/engine/index.js";
import type { JobRequest, Jobs } from "../../src/jobs/jobs.js";
import { startMaintenance } from "../../src/maintenance/maintenance.js";
import { items } from "../harness/arrow.js";
import type { Json } from "../harness/client.js";
import { listIndexes, waitForIndex } from "../harness/indexes.js";
import { setupServer } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";

const joust = setupServer();
/** How long a table without writes may have unindexed rows, ms. */
const timeouts = { timeoutMs: 10_000, intervalMs: 100 };

const indexes: [string, string, object][] = [
  [
    "vector_idx",
    "create_index",
    { column: "vector", index_type: "IVF_PQ", num_partitions: 4, num_sub_vectors: 4 },
  ],
  ["id_idx", "create_scalar_index", { column: "id", index_type: "BTREE" }],
  ["category_idx", "create_scalar_index", { column: "category", index_type: "BITMAP" }],
  ["name_idx", "create_index", { column: "name", index_type: "FTS" }],
];

/** Indexed and unindexed rows by index. */
async function covered(table: string): Promise<Record<string, [number, number]>> {
  const listed = await listIndexes(joust.client, table);
  const entries = listed.map((one: Json) => [
    one.index_name,
    [one.num_indexed_rows, one.num_unindexed_rows],
  ]);
  return Object.fromEntries(entries);
}

async function indexed(table: string, rows: number): Promise<void> {
  await joust.client.createTable(table, items(rows));
  for (const [, operation, body] of indexes) {
    await joust.client.ok(`/v1/table/${table}/${operation}`, body);
  }
  for (const [name] of indexes) await waitForIndex(joust.client, table, name);
}

async function isCovered(table: string, rows: number): Promise<boolean> {
  const result = await covered(table);
  return indexes.every(([name]) => result[name]?.join() === `${rows},0`);
}

const all = (rows: number) => Object.fromEntries(indexes.map(([name]) => [name, [rows, 0]]));

it("a few new rows of a table without further writes are indexed within 10 s", {
  timeout: 90_000,
}, async () => {
  const { client } = joust;
  await indexed("quiet", 2_000);
  expect(await covered("quiet")).toEqual(all(2_000));
  await client.insert("quiet", items(30, { from: 2_000 }));
  expect((await covered("quiet")).id_idx).toEqual([2_000, 30]);
  await waitFor("all indexes cover the new rows", () => isCovered("quiet", 2_030), timeouts);
  expect(await client.count("quiet", { predicate: "id = 2029" })).toBe(1);
  const { maintenance } = await client.ok("/v1/table/quiet/stats");
  expect(maintenance).toMatchObject({ num_unindexed_rows: 0 });
  // The same for a single row.
  await client.insert("quiet", items(1, { from: 3_000 }));
  await waitFor("all indexes cover the last row", () => isCovered("quiet", 2_031), timeouts);
});

it("rows that arrive during an index build are indexed soon after it", {
  timeout: 90_000,
}, async () => {
  const { client } = joust;
  await client.createTable("building", items(2_000));
  for (const [, operation, body] of indexes) {
    await client.ok(`/v1/table/building/${operation}`, body);
    await client.insert("building", items(5, { from: 2_000 }));
  }
  for (const [name] of indexes) await waitForIndex(client, "building", name);
  await waitFor("all indexes cover all rows", () => isCovered("building", 2_020), timeouts);
});

it("a few new rows of a table with continuous writes are indexed after more rows or a pause", async () => {
  const queued: string[] = [];
  const record = { key: "k", location: "/t", properties: {}, storageOptions: {} };
  const due = { unindexedRows: 30, worthIndexing: false };
  let looks = 0;
  const maintenanceDue = async () => {
    looks++;
    return due;
  };
  const maintenance = startMaintenance({
    engine: {
      table: () => ({ maintenanceDue, autoRefreshes: async () => [] }),
    } as unknown as Engine,
    catalog: { tableByKey: async () => record, takeLease: async () => false } as unknown as Catalog,
    jobs: {
      enqueue: async ({ kind }: JobRequest) => void queued.push(kind),
      list: async () => [],
    } as unknown as Jobs,
    storageOptions: {},
    settings: { on: true, keepVersionsMs: 1_000, autoRefreshMs: 1_000 },
    autoRefreshes: { takeDue: async () => [] } as unknown as AutoRefreshes,
    log: pino({ level: "silent" }),
  });
  const writes = setInterval(() => maintenance.tableChanged("k"), 10);
  await waitFor("it is looked at while it is written to", () => looks >= 3);
  expect(queued).not.toContain("maintenance");
  due.worthIndexing = true;
  await waitFor("many rows are indexed", () => queued.includes("maintenance"));
  queued.length = 0;
  due.worthIndexing = false;
  clearInterval(writes);
  // The check that queued the job may have been the last event: then no write would be pending.
  maintenance.tableChanged("k");
  await waitFor("the last rows are indexed", () => queued.includes("maintenance"), timeouts);
  await maintenance.stop();
});
