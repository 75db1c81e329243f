import { setTimeout as delay } from "node:timers/promises";
import type { Catalog, TableRecord } from "../catalog/catalog.js";
import { adoptTables } from "../catalog/discovery/adoption.js";
import type { Config } from "../config/config.js";
import { loadConfig } from "../config/load.js";
import type { Engine, Table } from "../engine/index.js";
import { operatorMessage } from "../foundation/errors.js";
import type { JobRecord, Jobs } from "../jobs/jobs.js";
import { type CleanUpResult, cleanUp, maintenance } from "../jobs/maintenance.js";
import { startJobs } from "../jobs/runner.js";
import { queueCleanUp, queueMaintenance } from "../maintenance/maintenance-jobs.js";
import { properties, settingsOf } from "../maintenance/settings.js";
import { answeringVersionCleanUps } from "../maintenance/version-clean-up-answers.js";
import { setLanceEnvironment } from "../server/lance-environment.js";
import { openCatalog } from "../server/open-catalog.js";
import { openRoot } from "../server/open-root.js";
import { watchRemovals } from "../tables/table-removal.js";
import { releaseTableInThread } from "../tables/table-writes.js";
import { createLogger } from "../telemetry/logger.js";
import { takeFlag } from "./flag.js";

const PAGE = 1_000;
const POLL_INTERVAL = 50;
/** Rewrites of one table, each of which leaves larger fragments. */
const MAX_ROUNDS = 8;
/** A signal's usual share of an exit code. */
const INTERRUPTED = 130;

/**
 * `joust maintain`: does for all tables, or one, what servers do by themselves.
 *
 * It is a server without a port: the work is jobs, of which a table has one of a kind at a time, so that it does
 * no harm beside servers that run on the same root. They may take a job over; it waits for the end.
 */
export async function maintain(args: readonly string[]): Promise<void> {
  const { value: name, rest } = takeFlag(args, "--table");
  const config = loadConfig(rest, { env: process.env, cwd: process.cwd() });
  // It says itself what it does.
  const log = createLogger(config.logLevel === "info" ? "warn" : config.logLevel);
  setLanceEnvironment(config);
  const { Engine } = await import("../engine/index.js");
  const engine = new Engine(config);
  const { root, storageOptions } = config;
  await openRoot(engine, config);
  const onLease = (leftMs: number) => engine.renewLease(leftMs);
  const opened = await openCatalog({ root, url: config.catalog, log, role: "server", onLease });
  const store = await answeringVersionCleanUps(opened, { engine, storageOptions, log });
  try {
    const catalog = await adoptTables(store.catalog, { engine, root, storageOptions, log });
    const kinds = [maintenance(engine, storageOptions), cleanUp(engine, storageOptions, store)];
    const jobs = startJobs({ store: store.jobs, catalog, kinds, onlyKinds: true, log });
    const threads = { releaseTable: (key: string) => releaseTableInThread({ engine }, key) };
    const unwatch = watchRemovals({ engine, catalog, jobs, threads, log });
    const stop = async () => {
      await unwatch();
      await jobs.stop();
    };
    process.once("SIGINT", () => {
      // What was begun goes back into the queue.
      void stop()
        .then(() => store.close())
        .finally(() => process.exit(INTERRUPTED));
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

/** @throws when there is no such table, or when a table could not be maintained in full */
async function maintainTables(room: MaintainDependencies, name: string | undefined): Promise<void> {
  const failed: string[] = [];
  const ids = name === undefined ? allTables(room.catalog) : [name.split("$")];
  for await (const id of ids) {
    const shown = id.join("$");
    const found = await room.catalog.table(id).catch((error: unknown) => {
      // It was listed, and is dropped now.
      if (name === undefined) return undefined;
      throw error;
    });
    if (!found) continue;
    const told = await maintainTable(room, found, name !== undefined).catch((error: Error) => {
      failed.push(shown);
      return `failed: ${operatorMessage(error)}`;
    });
    process.stdout.write(`${shown}: ${told}\n`);
  }
  if (failed.length > 0) throw new Error(`not maintained in full: ${failed.join(", ")}`);
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

/** What was done, in words. `asked`: the table was named, so that it is done whatever its property says. */
async function maintainTable(
  { config, engine, jobs }: MaintainDependencies,
  record: TableRecord,
  asked: boolean,
): Promise<string> {
  const settings = settingsOf(record, { ...config.maintenance, on: true });
  if (!settings.on && !asked) return `left alone, as its property ${properties.maintenance} says`;
  const options = { ...config.storageOptions, ...record.storageOptions };
  const table = engine.table(record.location, options);
  const done: string[] = [];
  let due = true;
  for (let round = 0; due && round < MAX_ROUNDS; round++) {
    const job = await waitForJob(jobs, await queueMaintenance(jobs, record));
    const result = job.result as Rewritten;
    done.push(...rewritten(result));
    // What a job that changed nothing leaves, another one would leave too.
    due = result.published_version !== undefined && (await isDue(table));
  }
  const cleaned = await waitForJob(jobs, await queueCleanUp(jobs, record, settings.keepVersionsMs));
  done.push(...removed(cleaned.result as CleanUpResult));
  return done.length > 0 ? done.join("; ") : "nothing to do";
}

const isDue = async (table: Table): Promise<boolean> => {
  const { compactBelow, unindexedRows } = await table.upkeep();
  return compactBelow !== undefined || unindexedRows > 0;
};

/** A job that is done. @throws when it is not, with what it says of that */
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
  if (indexes?.length) parts.push(`brought up to date: ${indexes.join(", ")}`);
  return parts;
}

function removed({ versions_removed, bytes_removed, versions_in_use }: CleanUpResult): string[] {
  const parts: string[] = [];
  if (versions_removed > 0)
    parts.push(`removed ${versions_removed} old versions, ${bytes_removed} bytes`);
  if (versions_in_use) parts.push(`left ${versions_in_use} old versions that are in use`);
  return parts;
}
