/**
 * Automatic maintenance: decides which tables need compaction, an optimization of their indexes or a removal of
 * old versions, and queues jobs for them.
 *
 * 1. Each write through this server counts for its table (`tableChanged`).
 * 2. Every second the server checks the tables with many writes, and those without a recent write.
 * 3. Every ten minutes one server of the cluster checks all tables: other tools write to tables too, and a server
 *    may stop before it checks a table.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Catalog, TableRecord } from "../catalog/catalog.js";
import type { MaintenanceSettings } from "../config/config.js";
import type { Engine, Table } from "../engine/index.js";
import { startPolling } from "../foundation/poll-loop.js";
import { type Jobs, VERSION_CLEAN_UP } from "../jobs/jobs.js";
import type { VersionCleanUpResult } from "../jobs/version-clean-up.js";
import type { Logger } from "../telemetry/logger.js";
import { AutoRefresh, type AutoRefreshOptions } from "./auto-refresh.js";
import { queueMaintenance, queueVersionCleanUp } from "./maintenance-jobs.js";
import { settingsOf } from "./settings.js";

/** Time between two checks of written tables, ms. */
const WRITTEN_TABLES_INTERVAL = 1_000;
/** A table with so many writes is checked although more arrive. */
const MANY_WRITES = 64;
/** A written table is quiet after this time without a write, ms. */
const QUIET_AFTER = 3_000;
/** Time between two clean-ups of a table: this part of the time for which versions stay, within bounds, ms. */
const CLEAN_UP_FRACTION = 1 / 8;
const MIN_CLEAN_UP_INTERVAL = 60_000;
const MAX_CLEAN_UP_INTERVAL = 3_600_000;
/** Time between two checks of all tables, ms. */
const ALL_TABLES_INTERVAL = 600_000;
/** How often a server asks whether the check of all tables is due, ms. */
const ALL_TABLES_LEASE_INTERVAL = 30_000;
const ALL_TABLES_PAGE = 1_000;
/** Pause after each table, ms, to leave the storage to requests. */
const ALL_TABLES_PAUSE = 5;

export interface Maintenance {
  /** A table was written to, or a job changed it beside writes. */
  tableChanged(key: string): void;
  /** Columns of a table may refresh themselves from now on, or no longer. */
  columnsDeclared(key: string): Promise<void>;
  /**
   * A view was created, or a request refreshes it.
   *
   * @param sources the keys of the tables that its query names
   * @param job the refresh that is queued
   */
  viewDeclared(view: string, sources: readonly string[], job?: string): Promise<void>;
  progress(): MaintenanceProgress;
  stop(): Promise<void>;
}

export interface MaintenanceProgress {
  /** Tables with writes through this server since their last check. */
  readonly pendingTables: number;
  /** End of this server's last check of all tables, ms since the epoch. Absent before the first. */
  readonly lastRoundMillis?: number;
}

export interface MaintenanceOptions {
  readonly engine: Engine;
  readonly catalog: Pick<Catalog, "table" | "tableByKey" | "listAllTables" | "takeLease">;
  readonly jobs: Pick<Jobs, "enqueue" | "list" | "describe">;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly settings: MaintenanceSettings;
  readonly log: Logger;
  readonly autoRefreshes: AutoRefreshOptions["autoRefreshes"];
}

export const startMaintenance = (options: MaintenanceOptions): Maintenance =>
  new AutomaticMaintenance(options);

interface RecentWrites {
  count: number;
  lastMillis: number;
}

class AutomaticMaintenance implements Maintenance {
  /** By the table's key: the writes since the last check. */
  readonly #written = new Map<string, RecentWrites>();
  /** By the table's key: when this server last considered a clean-up, ms since the epoch. */
  readonly #cleanUpChecked = new Map<string, number>();
  readonly #autoRefresh: AutoRefresh;
  readonly #stopWrittenTables: () => Promise<void>;
  readonly #stopAllTables: () => Promise<void>;
  #lastRoundMillis: number | undefined;
  #stopping = false;

  constructor(private readonly options: MaintenanceOptions) {
    const { log } = options;
    this.#autoRefresh = new AutoRefresh(options);
    this.#stopWrittenTables = startPolling(
      WRITTEN_TABLES_INTERVAL,
      () => this.#checkWrittenTables(),
      (err) => log.warn({ err }, "the written tables could not be checked"),
    );
    this.#stopAllTables = startPolling(
      ALL_TABLES_LEASE_INTERVAL,
      () => this.#checkAllTables(),
      (err) => log.warn({ err }, "the check of all tables for maintenance failed"),
      { immediate: true },
    );
  }

  tableChanged(key: string): void {
    const writes = this.#written.get(key);
    if (!writes) this.#written.set(key, { count: 1, lastMillis: Date.now() });
    else {
      writes.count++;
      writes.lastMillis = Date.now();
    }
  }

  async columnsDeclared(key: string): Promise<void> {
    const opened = await this.#open(key);
    if (opened) await this.#autoRefresh.watch(opened.record, opened.table);
  }

  async viewDeclared(view: string, sources: readonly string[], job?: string): Promise<void> {
    const opened = await this.#open(view);
    if (opened) await this.#autoRefresh.declareView(opened.record, opened.table, sources, job);
  }

  async #open(key: string): Promise<{ record: TableRecord; table: Table } | undefined> {
    const { catalog, engine, storageOptions } = this.options;
    const record = await catalog.tableByKey(key);
    if (!record) return undefined;
    const options = { ...storageOptions, ...record.storageOptions };
    return { record, table: engine.table(record.location, options) };
  }

  progress(): MaintenanceProgress {
    return {
      pendingTables: this.#written.size,
      ...(this.#lastRoundMillis !== undefined && { lastRoundMillis: this.#lastRoundMillis }),
    };
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([this.#stopWrittenTables(), this.#stopAllTables(), this.#autoRefresh.stop()]);
  }

  async #checkWrittenTables(): Promise<void> {
    // A copy: tables that get writes during these checks wait for the next ones.
    for (const [key, { count, lastMillis }] of [...this.#written]) {
      const now = Date.now();
      const isQuiet = now - lastMillis >= QUIET_AFTER;
      if (count < MANY_WRITES && !isQuiet) continue;
      this.#written.delete(key);
      try {
        await this.#checkTable(key, now, isQuiet);
      } catch (err) {
        this.options.log.warn({ err }, "a table could not be checked for maintenance");
      }
    }
  }

  async #checkAllTables(): Promise<void> {
    const { catalog, settings, log } = this.options;
    // With maintenance off, a server checks only the tables whose properties turn it on. That takes its own lease:
    // it must not replace the check by a server with maintenance on.
    const lease = settings.on ? "maintenance round" : "maintenance round of tables that ask for it";
    if (!(await catalog.takeLease(lease, ALL_TABLES_INTERVAL))) return;
    let pageToken: string | undefined;
    do {
      const page = await catalog.listAllTables(
        { limit: ALL_TABLES_PAGE, ...(pageToken && { pageToken }) },
        { declared: false },
      );
      for (const id of page.items) {
        if (this.#stopping) return;
        try {
          const { key } = await catalog.table(id);
          await this.#checkTable(key, Date.now(), !this.#written.has(key));
        } catch (err) {
          // The table was dropped meanwhile, or its files cannot be read. The others are checked all the same.
          log.debug({ err, table: id }, "a table could not be checked for maintenance");
        }
        await delay(ALL_TABLES_PAUSE);
      }
      pageToken = page.pageToken;
    } while (pageToken !== undefined);
    this.#lastRoundMillis = Date.now();
  }

  /** `isQuiet`: no writes arrive, so that even few rows without an index entry are worth a job. */
  async #checkTable(key: string, now: number, isQuiet: boolean): Promise<void> {
    const { jobs } = this.options;
    const opened = await this.#open(key);
    if (!opened) return void this.#cleanUpChecked.delete(key);
    const { record, table } = opened;
    const settings = settingsOf(record, this.options.settings);
    if (!settings.on) return;
    const { compactBelow, unindexedRows, worthIndexing } = await table.maintenanceDue();
    const needsIndexing = isQuiet ? unindexedRows > 0 : worthIndexing;
    if (compactBelow !== undefined || needsIndexing) await queueMaintenance(jobs, record);
    if (await this.#isCleanUpDue(record, table, settings, now)) {
      await queueVersionCleanUp(jobs, record, settings.keepVersionsMs);
    }
    // Other tools declare such columns, too.
    await this.#autoRefresh.watch(record, table);
  }

  /** Considers a table once in an interval only: a clean-up lists all versions. */
  async #isCleanUpDue(
    { key }: TableRecord,
    table: Table,
    { keepVersionsMs }: MaintenanceSettings,
    now: number,
  ): Promise<boolean> {
    const interval = Math.min(
      Math.max(keepVersionsMs * CLEAN_UP_FRACTION, MIN_CLEAN_UP_INTERVAL),
      MAX_CLEAN_UP_INTERVAL,
    );
    const checked = this.#cleanUpChecked.get(key);
    if (checked !== undefined && now - checked < interval) return false;
    this.#cleanUpChecked.set(key, now);
    // Another server may have cleaned up.
    const jobs = await this.options.jobs.list(key);
    const last = jobs.filter((job) => job.kind === VERSION_CLEAN_UP && job.state === "DONE").at(-1);
    if (last === undefined) return true;
    if (now - last.updatedMillis < interval) {
      // Also after a job of this server: the interval begins at the end of the job, not when it was queued.
      this.#cleanUpChecked.set(key, last.updatedMillis);
      return false;
    }
    if ((last.result as VersionCleanUpResult | undefined)?.versions_in_use) return true;
    // When the newest version was old enough already, the last clean-up removed all others: nothing is due.
    const { timestampMillis } = await table.describe();
    return last.updatedMillis < timestampMillis + keepVersionsMs;
  }
}
