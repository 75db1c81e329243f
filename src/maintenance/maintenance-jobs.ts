import type { TableRecord } from "../catalog/catalog.js";
import { CLEAN_UP, type JobRecord, type Jobs } from "../jobs/jobs.js";
import type { CleanUpSpec } from "../jobs/maintenance.js";
import { specName } from "../jobs/spec-name.js";

/** Kinds of the jobs that keep tables fit. */
export const maintenanceKinds: ReadonlySet<string> = new Set(["maintenance", CLEAN_UP]);

/** Chores of one name that are kept: a busy table has one every few seconds, and nobody asked for them. */
const KEPT = 20;

/** Queues the job that puts fragments together and lets indexes cover new rows. */
export const queueMaintenance = (
  jobs: Pick<Jobs, "enqueue">,
  { key }: Pick<TableRecord, "key">,
): Promise<JobRecord> =>
  // One that runs already may have looked at an index before the last rows came.
  queue(jobs, key, "maintenance", {}, true);

/** Queues the job that removes versions `keepVersionsMs` after the next one came. */
export const queueCleanUp = (
  jobs: Pick<Jobs, "enqueue">,
  { key }: Pick<TableRecord, "key">,
  keepVersionsMs: number,
): Promise<JobRecord> => {
  const wanted: CleanUpSpec = { age_ms: keepVersionsMs };
  return queue(jobs, key, CLEAN_UP, wanted);
};

function queue(
  jobs: Pick<Jobs, "enqueue">,
  table: string,
  kind: string,
  wanted: object,
  afresh = false,
): Promise<JobRecord> {
  const spec = JSON.stringify(wanted);
  // No name that an index could have: clients would find the index being made.
  return jobs.enqueue({ kind, table, name: specName(kind, spec), spec, kept: KEPT, afresh });
}
