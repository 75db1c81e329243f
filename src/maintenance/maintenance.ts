import { setTimeout as delay } from "node:timers/promises";
import type { Catalog, TableRecord } from "../catalog/catalog.js";
import type { MaintenanceSettings } from "../config/config.js";
import type { Engine, Table } from "../engine/index.js";
import { CLEAN_UP, type Jobs } from "../jobs/jobs.js";
import type { CleanUpResult } from "../jobs/maintenance.js";
import type { Logger } from "../telemetry/logger.js";
import { queueCleanUp, queueMaintenance } from "./maintenance-jobs.js";
import { settingsOf } from "./settings.js";

/** How often written tables are looked at, ms. */
const INTERVAL = 1_000;
/** Writes after which a table is looked at while more come in. */
const MANY_WRITES = 64;
/** Time without a write after which a written table is looked at, ms. */
const QUIET = 3_000;
/** Old versions are looked for after this part of the time that they are kept, within these, ms. */
const CLEAN_UP_PART = 1 / 8;
const CLEAN_UP_AT_LEAST = 60_000;
const CLEAN_UP_AT_MOST = 3_600_000;
/** How often all tables are looked at, ms: some are written by other tools, or were by a server before. */
const ROUND = 600_000;
/** How often somebody asks whether a round is due, ms. */
const ROUND_ASKED = 30_000;
const ROUND_PAGE = 1_000;
/** Between two tables of a round, ms: there is time. */
const ROUND_PAUSE = 5;

/** Keeps tables fit without being asked. */
export interface Maintenance {
  /** A table was written to, or a job on it has ended that others may have written beside. */
  tableChanged(key: string): void;
  progress(): MaintenanceProgress;
  stop(): Promise<void>;
}

export interface MaintenanceProgress {
  /** Written through this server and not looked at since. */
  readonly tablesToLookAt: number;
  /** When this server last ended a round of all tables, ms since the epoch; absent before the first. */
  readonly lastRoundMillis?: number;
}

export interface MaintenanceOptions {
  readonly engine: Engine;
  readonly catalog: Pick<Catalog, "table" | "tableByKey" | "listAllTables" | "takeLease">;
  readonly jobs: Pick<Jobs, "enqueue" | "list">;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly settings: MaintenanceSettings;
  readonly log: Logger;
}

/**
 * Watches writes and queues jobs for the tables that need them. From time to time one of the servers
 * looks at all tables.
 */
export function startMaintenance(options: MaintenanceOptions): Maintenance {
  return new Watch(options);
}

interface Written {
  writes: number;
  last: number;
}

class Watch implements Maintenance {
  readonly #written = new Map<string, Written>();
  /** When a table was last cleaned up, or first written to. */
  readonly #cleaned = new Map<string, number>();
  readonly #timers: NodeJS.Timeout[];
  #looking = Promise.resolve();
  #round: Promise<void> | undefined;
  #rounded: number | undefined;
  #stopping = false;

  constructor(private readonly options: MaintenanceOptions) {
    const look = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look());
    }, INTERVAL);
    const round = setInterval(() => this.#goRound(), ROUND_ASKED);
    this.#timers = [look, round];
    for (const timer of this.#timers) timer.unref();
    this.#goRound();
  }

  tableChanged(key: string): void {
    const written = this.#written.get(key);
    if (!written) this.#written.set(key, { writes: 1, last: Date.now() });
    else {
      written.writes++;
      written.last = Date.now();
    }
  }

  progress(): MaintenanceProgress {
    return {
      tablesToLookAt: this.#written.size,
      ...(this.#rounded !== undefined && { lastRoundMillis: this.#rounded }),
    };
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([this.#looking, this.#round]);
  }

  async #look(): Promise<void> {
    const now = Date.now();
    for (const [key, { writes, last }] of this.#written) {
      const isQuiet = now - last >= QUIET;
      if (writes < MANY_WRITES && !isQuiet) continue;
      this.#written.delete(key);
      try {
        await this.#care(key, now, isQuiet);
      } catch (err) {
        this.options.log.warn({ err }, "a table could not be looked at for its maintenance");
      }
    }
  }

  #goRound(): void {
    this.#round ??= this.#lookAtAll()
      .catch((err) => this.options.log.warn({ err }, "the tables could not be looked at"))
      .finally(() => {
        this.#round = undefined;
      });
  }

  async #lookAtAll(): Promise<void> {
    const { catalog, settings, log } = this.options;
    // A server that is off looks for tables that are on by themselves: no round for one that is on.
    const round = settings.on ? "maintenance round" : "maintenance round of tables that ask for it";
    if (!(await catalog.takeLease(round, ROUND))) return;
    let pageToken: string | undefined;
    do {
      const page = await catalog.listAllTables(
        { limit: ROUND_PAGE, ...(pageToken && { pageToken }) },
        { declared: false },
      );
      for (const id of page.items) {
        if (this.#stopping) return;
        try {
          const { key } = await catalog.table(id);
          // One that is being written to is looked at in its own time.
          await this.#care(key, Date.now(), !this.#written.has(key));
        } catch (err) {
          // Dropped meanwhile, or files that cannot be read: others are looked at all the same.
          log.debug({ err, table: id }, "a table could not be looked at for its maintenance");
        }
        await delay(ROUND_PAUSE);
      }
      pageToken = page.pageToken;
    } while (pageToken !== undefined);
    this.#rounded = Date.now();
  }

  /** `isQuiet`: nobody writes to it, so that what is not indexed yet will not soon be more. */
  async #care(key: string, now: number, isQuiet: boolean): Promise<void> {
    const { catalog, engine, jobs, storageOptions } = this.options;
    const record = await catalog.tableByKey(key);
    if (!record) return void this.#cleaned.delete(key);
    const settings = settingsOf(record, this.options.settings);
    if (!settings.on) return;
    const table = engine.table(record.location, { ...storageOptions, ...record.storageOptions });
    const { compactBelow, unindexedRows, worthIndexing } = await table.upkeep();
    const isBehind = isQuiet ? unindexedRows > 0 : worthIndexing;
    if (compactBelow !== undefined || isBehind) await queueMaintenance(jobs, record);
    if (await this.#mayCleanUp(record, table, settings, now)) {
      await queueCleanUp(jobs, record, settings.keepVersionsMs);
    }
  }

  /** Versions come and go slowly: a table is not listed for each write. */
  async #mayCleanUp(
    { key }: TableRecord,
    table: Table,
    { keepVersionsMs }: MaintenanceSettings,
    now: number,
  ): Promise<boolean> {
    const interval = Math.min(
      Math.max(keepVersionsMs * CLEAN_UP_PART, CLEAN_UP_AT_LEAST),
      CLEAN_UP_AT_MOST,
    );
    const last = this.#cleaned.get(key);
    if (last !== undefined && now - last < interval) return false;
    this.#cleaned.set(key, now);
    // Another server may have done it.
    const jobs = await this.options.jobs.list(key);
    const done = jobs.filter((job) => job.kind === CLEAN_UP && job.state === "DONE").at(-1);
    if (done === undefined) return true;
    if (now - done.updatedMillis < interval) {
      // Our own last one, too, ended after it was queued: the next is due an interval after its end.
      this.#cleaned.set(key, done.updatedMillis);
      return false;
    }
    if ((done.result as CleanUpResult | undefined)?.versions_in_use) return true;
    // All but the newest version were old enough then.
    const { timestampMillis } = await table.describe();
    return done.updatedMillis < timestampMillis + keepVersionsMs;
  }
}
