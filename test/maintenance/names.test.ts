import { pino } from "pino";
import { expect, test } from "vitest";
import type { Catalog } from "../../src/catalog/catalog.js";
import type { AutoRefreshes } from "../../src/cluster/auto-refreshes.js";
import type { Engine } from "../../src/engine/index.js";
import type { JobRequest, Jobs } from "../../src/jobs/jobs.js";
import { startMaintenance } from "../../src/maintenance/maintenance.js";
import { waitFor } from "../harness/wait-for.js";

test("the names of maintenance jobs are no valid index names", async () => {
  const queued: JobRequest[] = [];
  const record = { key: "k", location: "/t", properties: {}, storageOptions: {} };
  const maintenance = startMaintenance({
    engine: {
      table: () => ({
        maintenanceDue: async () => ({ unindexedRows: 300, worthIndexing: true }),
        autoRefreshes: async () => [],
      }),
    } as unknown as Engine,
    catalog: {
      tableByKey: async () => record,
      takeLease: async () => false,
    } as unknown as Catalog,
    jobs: {
      enqueue: async (job: JobRequest) => void queued.push(job),
      list: async () => [],
    } as unknown as Jobs,
    storageOptions: {},
    settings: { on: true, keepVersionsMs: 1_000, autoRefreshMs: 1_000 },
    autoRefreshes: { takeDue: async () => [] } as unknown as AutoRefreshes,
    log: pino({ level: "silent" }),
  });
  for (let n = 0; n < 64; n++) maintenance.tableChanged("k");
  await waitFor("both jobs are queued", async () => queued.length === 2);
  await maintenance.stop();
  expect(queued.map(({ kind }) => kind)).toEqual(["maintenance", "clean_up"]);
  for (const { kind, name } of queued) expect(name).toMatch(new RegExp(`^${kind}:[0-9a-f]{64}$`));
});
