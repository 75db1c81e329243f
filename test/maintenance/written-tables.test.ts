import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import type { MaintenanceOptions } from "../../src/maintenance/maintenance.js";
import { startMaintenance } from "../../src/maintenance/maintenance.js";
import { waitFor } from "../harness/wait-for.js";

/** Maintenance of tables for which nothing is due. `checked` is called for each check of a table. */
function start(checked: (key: string) => void) {
  const table = (key: string) => ({
    async maintenanceDue() {
      await delay(5);
      checked(key);
      return { unindexedRows: 0, worthIndexing: false };
    },
    async autoRefreshes() {
      return [];
    },
    async describe() {
      return { timestampMillis: 0 };
    },
  });
  const maintenance = startMaintenance({
    engine: { table },
    catalog: {
      tableByKey: async (key: string) => ({ key, location: key, properties: {} }),
      takeLease: async () => false,
    },
    jobs: { list: async () => [], enqueue: async () => ({}) },
    storageOptions: {},
    settings: { on: true, keepVersionsMs: 86_400_000, autoRefreshMs: 60_000 },
    log: pino({ level: "silent" }),
    autoRefreshes: { takeDue: async () => [] },
  } as unknown as MaintenanceOptions);
  onTestFinished(() => maintenance.stop());
  return maintenance;
}

test("a table with writes at all times does not keep other tables from their check", async () => {
  const checks: string[] = [];
  let writing = true;
  const write = (key: string, count: number) => {
    for (let n = 0; n < count; n++) maintenance.tableChanged(key);
  };
  const maintenance = start((key) => {
    checks.push(key);
    if (key === "busy" && writing) write("busy", 64);
  });
  onTestFinished(() => {
    writing = false;
  });
  write("busy", 64);
  write("quiet", 1);
  await waitFor("the quiet table is checked", () => checks.includes("quiet"), {
    timeoutMs: 8_000,
  });
  expect(checks.filter((key) => key === "busy").length, "checks of the busy table").toBeLessThan(9);
});
