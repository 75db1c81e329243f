/** Whether a column or view that refreshes itself is out of date, and the job that refreshes it. */
import type { Catalog, TableRecord } from "../catalog/catalog.js";
import type { MaintenanceSettings } from "../config/config.js";
import type { Engine, Table } from "../engine/index.js";
import { ErrorCode, hasCode } from "../foundation/errors.js";
import type { JobRecord, Jobs } from "../jobs/jobs.js";
import { otherTable } from "../jobs/view-refresh.js";
import { queueColumnRefresh, queueViewRefresh } from "./maintenance-jobs.js";
import { settingsOf } from "./settings.js";

/** What is known of earlier refreshes. */
export interface RefreshState {
  /** The job of the last refresh, until its end was seen. */
  job?: string;
  /** Failed jobs and checks since the last success. */
  failures?: number;
  /** Of a column: the versions of the last backfill; see `Since` of the engine. */
  computed?: number;
  published?: number;
  /** Of a view: the tables that it reads, in the order of its query, and their versions of the last refresh. */
  sources?: { key: string; version?: number }[];
}

export interface CheckedRefresh {
  readonly state: RefreshState;
  /** The next check is not due before, ms: a refresh that takes long must not run all the time. */
  readonly pauseMs: number;
}

export interface RefreshDependencies {
  readonly catalog: Pick<Catalog, "table">;
  readonly engine: Engine;
  readonly jobs: Pick<Jobs, "enqueue" | "describe">;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly settings: MaintenanceSettings;
}

/**
 * Checks a column, or a view if `column` is empty. Queues a job if it is out of date.
 *
 * @throws code 4 if a source of a view does not exist, 19 if another table has its name
 */
export async function checkRefresh(
  dependencies: RefreshDependencies,
  record: TableRecord,
  table: Table,
  column: string,
  state: RefreshState,
): Promise<CheckedRefresh> {
  if (!settingsOf(record, dependencies.settings).on) return { state, pauseMs: 0 };
  const last = state.job === undefined ? undefined : await jobOf(dependencies.jobs, state.job);
  if (last && (last.state === "QUEUED" || last.state === "RUNNING")) return { state, pauseMs: 0 };
  const known = state.job === undefined ? state : afterJob(state, last);
  const pauseMs = last ? last.updatedMillis - last.createdMillis : 0;
  const { state: checked, job } =
    column === ""
      ? await checkView(dependencies, record, table, known)
      : await checkColumn(dependencies, record, table, column, known);
  return { state: { ...checked, ...(job && { job: job.id }) }, pauseMs };
}

/** Undefined for a job that is deleted. */
const jobOf = (jobs: Pick<Jobs, "describe">, id: string): Promise<JobRecord | undefined> =>
  jobs.describe(id).catch((error) => {
    if (hasCode(error, ErrorCode.TransactionNotFound)) return undefined;
    throw error;
  });

/** The state after the end of a job. */
function afterJob({ job: _, ...state }: RefreshState, ended: JobRecord | undefined): RefreshState {
  if (ended?.state !== "DONE" || !ended.result) {
    return { ...state, failures: (state.failures ?? 0) + 1 };
  }
  const { failures: __, ...rest } = state;
  if (rest.sources) {
    const { sources } = ended.result as { sources: { version: number }[] };
    const read = rest.sources.map(({ key }, n) => ({ key, ...versionOf(sources[n]) }));
    return { ...rest, sources: read };
  }
  const { source_version: computed, published_version: published = computed } = ended.result as {
    source_version: number;
    published_version?: number;
  };
  return { ...rest, computed, published };
}

const versionOf = (source: { version: number } | undefined) =>
  source && { version: source.version };

interface Checked {
  readonly state: RefreshState;
  /** The job that was queued. */
  readonly job?: JobRecord;
}

async function checkColumn(
  { jobs }: Pick<RefreshDependencies, "jobs">,
  record: TableRecord,
  table: Table,
  column: string,
  state: RefreshState,
): Promise<Checked> {
  const { computed, published = computed } = state;
  if (computed === undefined || published === undefined) {
    return { state, job: await queueColumnRefresh(jobs, record, { column }) };
  }
  const since = { computed, published };
  const { hasChanged, version } = await table.changesSince(since, column);
  // From now on the newest version is compared: older ones are removed some day.
  if (!hasChanged) return { state: { computed: version, published: version } };
  const spec = { column, changed_since: since };
  return { state, job: await queueColumnRefresh(jobs, record, spec) };
}

async function checkView(
  { catalog, engine, jobs, storageOptions }: RefreshDependencies,
  record: TableRecord,
  view: Table,
  state: RefreshState,
): Promise<Checked> {
  const { tables } = await view.view();
  const sources = state.sources ?? [];
  let isDue = false;
  const compared: { key: string; version?: number }[] = [];
  for (const [n, { table: id }] of tables.entries()) {
    const known = sources[n];
    const source = await catalog.table(id);
    if (source.key !== known?.key) throw otherTable(id);
    const options = { ...storageOptions, ...source.storageOptions };
    const table = engine.table(source.location, options);
    if (known.version === undefined) {
      isDue = true;
      compared.push(known);
      continue;
    }
    const since = { computed: known.version, published: known.version };
    const { hasChanged, version } = await table.changesSince(since);
    isDue ||= hasChanged;
    compared.push(hasChanged ? known : { key: known.key, version });
  }
  if (!isDue) return { state: { sources: compared } };
  const keys = sources.map(({ key }) => key);
  const job = await queueViewRefresh(jobs, record, keys);
  return { state: { ...state, sources: compared }, job };
}
