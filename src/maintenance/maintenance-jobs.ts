import type { TableRecord } from "../catalog/catalog.js";
import type { BackfillSpec } from "../jobs/backfill.js";
import { type JobRecord, type Jobs, VERSION_CLEAN_UP } from "../jobs/jobs.js";
import { specName } from "../jobs/spec-name.js";
import type { VersionCleanUpSpec } from "../jobs/version-clean-up.js";
import type { RefreshSpec } from "../jobs/view-refresh.js";

export const maintenanceKinds: ReadonlySet<string> = new Set(["maintenance", VERSION_CLEAN_UP]);

/** Ended jobs to keep for each table and kind: a busy table has a new one every few seconds. */
const KEEP_ENDED = 20;

/** Queues a job that compacts a table and optimizes its indexes. */
export const queueMaintenance = (
  jobs: Pick<Jobs, "enqueue">,
  { key }: Pick<TableRecord, "key">,
): Promise<JobRecord> =>
  // A running job may have passed an index before the last rows were written.
  queue(jobs, key, "maintenance", {}, true);

/** Queues a job that removes each version `keepVersionsMs` after the next one was committed. */
export const queueVersionCleanUp = (
  jobs: Pick<Jobs, "enqueue">,
  { key }: Pick<TableRecord, "key">,
  keepVersionsMs: number,
): Promise<JobRecord> => {
  const spec: VersionCleanUpSpec = { age_ms: keepVersionsMs };
  return queue(jobs, key, VERSION_CLEAN_UP, spec);
};

/** Queues a backfill of a computed column that refreshes itself. */
export const queueColumnRefresh = (
  jobs: Pick<Jobs, "enqueue">,
  { key: table }: Pick<TableRecord, "key">,
  spec: BackfillSpec,
): Promise<JobRecord> =>
  jobs.enqueue({
    kind: "backfill",
    table,
    // One name for all jobs of the column, so that the store retains only the last ones.
    name: specName("backfill", JSON.stringify({ column: spec.column, automatic: true })),
    spec: JSON.stringify(spec),
    keepEnded: KEEP_ENDED,
    freshRun: true,
  });

/** Queues the refresh of a view that refreshes itself. `sources`: the keys of the tables that it may read. */
export const queueViewRefresh = (
  jobs: Pick<Jobs, "enqueue">,
  { key }: Pick<TableRecord, "key">,
  sources: readonly string[],
): Promise<JobRecord> => {
  const spec: RefreshSpec = { source_keys: sources };
  return queue(jobs, key, "refresh", spec, true);
};

function queue(
  jobs: Pick<Jobs, "enqueue">,
  table: string,
  kind: string,
  parameters: object,
  freshRun = false,
): Promise<JobRecord> {
  const spec = JSON.stringify(parameters);
  // Not a possible index name: clients look for index builds by name.
  const name = specName(kind, spec);
  return jobs.enqueue({ kind, table, name, spec, keepEnded: KEEP_ENDED, freshRun });
}
