import { setTimeout as delay } from "node:timers/promises";
import type { Catalog, TableRecord } from "../catalog/catalog.js";
import { adoptTables } from "../catalog/discovery/adoption.js";
import type { Config } from "../config/config.js";
import type { Engine, Table } from "../engine/index.js";
import { operatorMessage } from "../foundation/errors.js";
import type { JobRecord, Jobs } from "../jobs/jobs.js";
import { maintenance } from "../jobs/maintenance.js";
import { startJobs } from "../jobs/runner.js";
import { type VersionCleanUpResult, versionCleanUp } from "../jobs/version-clean-up.js";
import { queueMaintenance, queueVersionCleanUp } from "../maintenance/maintenance-jobs.js";
import { properties, settingsOf } from "../maintenance/settings.js";
import { openStorage } from "../server/open-storage.js";
import { startRemovalAcknowledgements } from "../tables/table-removal.js";
import { endTableWorkInThread } from "../tables/table-writes.js";
import type { Logger } from "../telemetry/logger.js";
import type { StopSignals } from "./stop-signals.js";

/** Tables of one page of the listing. */
const PAGE = 1_000;
/** ms */
const POLL_INTERVAL = 50;
/** The most compactions of one table. Each one leaves larger fragments. */
const MAX_ROUNDS = 8;

export interface MaintainOptions {
  readonly log: Logger;
  readonly signals: StopSignals;
  /** Of the table; undefined: all tables. */
  readonly name: string | undefined;
}

/** Opens the root and maintains one table, or all tables. Prints a summary of each table. */
export async function maintainRoot(
  config: Config,
  { log, signals, name }: MaintainOptions,
): Promise<void> {
  const { engine, store } = await openStorage(config, log);
  const { root, storageOptions } = config;
  try {
    const catalog = await adoptTables(store.catalog, { engine, root, storageOptions, log });
    const kinds = [
      maintenance({ engine, storageOptions }),
      versionCleanUp(engine, storageOptions, store),
    ];
    const jobs = startJobs({ store: store.jobs, catalog, kinds, onlyKinds: true, log });
    const threads = { endTableWork: (key: string) => endTableWorkInThread({ engine }, key) };
    const stopWatching = startRemovalAcknowledgements({ engine, catalog, jobs, threads, log });
    const stop = async () => {
      await stopWatching();
      await jobs.stop();
    };
    let closing = false;
    signals.beforeExit(async () => {
      // A second signal does not wait.
      if (closing) return;
      closing = true;
      // Jobs that have not ended return to the queue.
      await stop();
      await store.close();
    });
    try {
      await maintainTables({ config, engine, catalog, jobs }, name);
    } finally {
      await stop();
    }
  } finally {
    await store.close();
  }
}

interface MaintainDependencies {
  readonly config: Config;
  readonly engine: Engine;
  readonly catalog: Catalog;
  readonly jobs: Jobs;
}

/** @throws if the table does not exist, or if the maintenance of a table failed */
async function maintainTables(
  dependencies: MaintainDependencies,
  name: string | undefined,
): Promise<void> {
  const failed: string[] = [];
  const ids = name === undefined ? allTables(dependencies.catalog) : [name.split("$")];
  for await (const id of ids) {
    const label = id.join("$");
    const record = await dependencies.catalog.table(id).catch((error: unknown) => {
      // The table was dropped after the listing.
      if (name === undefined) return undefined;
      throw error;
    });
    if (!record) continue;
    const summary = await maintainTable(dependencies, record, name !== undefined).catch(
      (error: Error) => {
        failed.push(label);
        return `failed: ${operatorMessage(error)}`;
      },
    );
    process.stdout.write(`${label}: ${summary}\n`);
  }
  if (failed.length > 0) throw new Error(`the maintenance failed for: ${failed.join(", ")}`);
}

async function* allTables(catalog: Catalog): AsyncGenerator<readonly string[]> {
  let pageToken: string | undefined;
  do {
    const page = { limit: PAGE, ...(pageToken !== undefined && { pageToken }) };
    const { items, pageToken: next } = await catalog.listAllTables(page, { declared: false });
    yield* items;
    pageToken = next;
  } while (pageToken !== undefined);
}

/** Returns a summary. `explicit`: the command names the table, which overrides the property of the table. */
async function maintainTable(
  { config, engine, jobs }: MaintainDependencies,
  record: TableRecord,
  explicit: boolean,
): Promise<string> {
  const settings = settingsOf(record, { ...config.maintenance, on: true });
  if (!settings.on && !explicit)
    return `skipped: the property ${properties.maintenance} disables maintenance`;
  const options = { ...config.storageOptions, ...record.storageOptions };
  const table = engine.table(record.location, options);
  const done: string[] = [];
  let due = true;
  for (let round = 0; due && round < MAX_ROUNDS; round++) {
    const job = await waitForJob(jobs, await queueMaintenance(jobs, record));
    const result = job.result as Rewritten;
    done.push(...rewritten(result));
    // If a job changed nothing, another one would change nothing either.
    due = result.published_version !== undefined && (await isDue(table));
  }
  const cleaned = await waitForJob(
    jobs,
    await queueVersionCleanUp(jobs, record, settings.keepVersionsMs),
  );
  done.push(...removed(cleaned.result as VersionCleanUpResult));
  return done.length > 0 ? done.join("; ") : "nothing to do";
}

const isDue = async (table: Table): Promise<boolean> => {
  const { compactBelow, unindexedRows } = await table.maintenanceDue();
  return compactBelow !== undefined || unindexedRows > 0;
};

/** Waits until a job is done. @throws Error with the job's message if it failed or was cancelled */
async function waitForJob(jobs: Pick<Jobs, "describe">, { id }: JobRecord): Promise<JobRecord> {
  for (;;) {
    const job = await jobs.describe(id);
    if (job.state === "DONE") return job;
    if (job.state === "FAILED") throw new Error(job.error?.message ?? "the job failed");
    if (job.state === "CANCELLED") throw new Error("the job was cancelled");
    await delay(POLL_INTERVAL);
  }
}

interface Rewritten {
  published_version?: number;
  fragments_removed?: number;
  fragments_added?: number;
  indexes?: string[];
}

function rewritten({ fragments_removed, fragments_added, indexes }: Rewritten): string[] {
  const parts: string[] = [];
  if (fragments_removed) parts.push(`${fragments_removed} fragments became ${fragments_added}`);
  if (indexes?.length) parts.push(`optimized indices: ${indexes.join(", ")}`);
  return parts;
}

function removed({
  versions_removed,
  bytes_removed,
  versions_in_use,
}: VersionCleanUpResult): string[] {
  const parts: string[] = [];
  if (versions_removed > 0)
    parts.push(`removed ${versions_removed} old versions, ${bytes_removed} bytes`);
  if (versions_in_use) parts.push(`retained ${versions_in_use} old versions that are in use`);
  return parts;
}
