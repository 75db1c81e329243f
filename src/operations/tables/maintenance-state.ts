import { type Static, Type } from "@sinclair/typebox";
import { count } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import type { TableRecord } from "../../catalog/catalog.js";
import type { Table } from "../../engine/index.js";
import { type JobRecord, VERSION_CLEAN_UP } from "../../jobs/jobs.js";
import { maintenanceKinds } from "../../maintenance/maintenance-jobs.js";
import { settingsOf } from "../../maintenance/settings.js";

/** The state of a table's maintenance, a part of its statistics. */
export const maintenanceSchema = Type.Object({
  state: Type.Union(
    ["off", "idle", "due", "queued", "running", "failed"].map((state) => Type.Literal(state)),
    { description: "due: a job starts soon; failed: the last job failed, others follow" },
  ),
  compaction_due: Type.Boolean({
    description: "small fragments or deleted rows make a rewrite worthwhile",
  }),
  num_unindexed_rows: count,
  keep_versions_ms: count,
  last_maintained_millis: Type.Optional(count),
  last_cleaned_up_millis: Type.Optional(count),
});

/** Derives the state from the main branch and the jobs of the table. */
export async function maintenanceState(
  { config, jobs }: Pick<Services, "config" | "jobs">,
  record: TableRecord,
  table: Table,
): Promise<Static<typeof maintenanceSchema>> {
  const { on, keepVersionsMs } = settingsOf(record, config.maintenance);
  const [due, all] = await Promise.all([table.maintenanceDue(), jobs.list(record.key)]);
  const maintenanceJobs = all.filter(({ kind }) => maintenanceKinds.has(kind));
  const compaction_due = due.compactBelow !== undefined;
  const last = (kind: string) =>
    maintenanceJobs.filter((job) => job.kind === kind && job.state === "DONE").at(-1);
  const [maintained, cleaned] = [last("maintenance"), last(VERSION_CLEAN_UP)];
  return {
    state: on ? stateOf(maintenanceJobs, compaction_due || due.unindexedRows > 0) : "off",
    compaction_due,
    num_unindexed_rows: due.unindexedRows,
    keep_versions_ms: keepVersionsMs,
    ...(maintained && { last_maintained_millis: maintained.updatedMillis }),
    ...(cleaned && { last_cleaned_up_millis: cleaned.updatedMillis }),
  };
}

function stateOf(jobs: readonly JobRecord[], due: boolean): string {
  if (jobs.some(({ state }) => state === "RUNNING")) return "running";
  if (jobs.some(({ state }) => state === "QUEUED")) return "queued";
  if (jobs.at(-1)?.state === "FAILED") return "failed";
  return due ? "due" : "idle";
}
