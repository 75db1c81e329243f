/**
 * Refreshes computed columns and materialized views that declare it.
 *
 * 1. Columns: maintenance finds the declaration when a change of columns ends, or when it checks the table (`watch`).
 *    Views: the operations that create or refresh a view report it (`declareView`), because only they check that the
 *    caller may read the sources.
 * 2. Every second each server takes the declarations whose check is due (see cluster/auto-refreshes.ts).
 * 3. A check queues a job if something has changed since the last one (`due-refresh.ts`).
 */
import type { Catalog, TableRecord } from "../catalog/catalog.js";
import type { AutoRefreshes, DueAutoRefresh } from "../cluster/auto-refreshes.js";
import type { MaintenanceSettings } from "../config/config.js";
import type { AutoRefreshDeclaration, Engine, Table } from "../engine/index.js";
import { startPolling } from "../foundation/poll-loop.js";
import type { Jobs } from "../jobs/jobs.js";
import type { Logger } from "../telemetry/logger.js";
import { checkRefresh, type RefreshState } from "./due-refresh.js";
import { turnsOn } from "./settings.js";

/** How often a server looks for due checks, and the shortest interval, ms. */
const POLL_INTERVAL = 1_000;
const LONGEST_INTERVAL = 365 * 86_400_000;
/** Declarations that are checked at the same time. */
const AT_ONCE = 8;
/** When a member dies during a check, another one repeats the check after this time, ms. */
const CHECK_TIMEOUT = 60_000;
/** After each failure the time to the next check doubles, so often at most. */
const MOST_DOUBLINGS = 6;

export interface AutoRefreshOptions {
  readonly autoRefreshes: Pick<AutoRefreshes, "declare" | "put" | "takeDue" | "checked" | "remove">;
  readonly catalog: Pick<Catalog, "table" | "tableByKey">;
  readonly engine: Engine;
  readonly jobs: Pick<Jobs, "enqueue" | "describe">;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly settings: MaintenanceSettings;
  readonly log: Logger;
}

export class AutoRefresh {
  readonly #stopPolling: () => Promise<void>;
  #stopping = false;

  constructor(private readonly options: AutoRefreshOptions) {
    this.#stopPolling = startPolling(
      POLL_INTERVAL,
      () => this.#checkDue(),
      (err) => options.log.warn({ err }, "the automatic refreshes could not be checked"),
    );
  }

  stop(): Promise<void> {
    this.#stopping = true;
    return this.#stopPolling();
  }

  /** Has the columns checked that refresh themselves. */
  async watch(record: TableRecord, table: Table): Promise<void> {
    for (const declaration of await table.autoRefreshes()) {
      if (declaration.column === undefined) continue;
      await this.options.autoRefreshes.declare(this.#row(record, declaration));
    }
  }

  /**
   * Has a view checked, if it refreshes itself.
   *
   * @param sources the keys of the tables that its query names: it is refreshed only as long as the names are theirs
   * @param job the refresh that is queued
   */
  async declareView(
    record: TableRecord,
    table: Table,
    sources: readonly string[],
    job: string | undefined,
  ): Promise<void> {
    const [declaration] = await table.autoRefreshes();
    if (!declaration || declaration.column !== undefined) return;
    const state: RefreshState = {
      sources: sources.map((key) => ({ key })),
      ...(job !== undefined && { job }),
    };
    await this.options.autoRefreshes.put(this.#row(record, declaration), JSON.stringify(state));
  }

  #row(record: TableRecord, declaration: AutoRefreshDeclaration) {
    return {
      table: record.key,
      column: declaration.column ?? "",
      intervalMs: this.#intervalOf(declaration),
      always: turnsOn(record),
    };
  }

  #intervalOf({ intervalSeconds }: AutoRefreshDeclaration): number {
    const declared =
      intervalSeconds === undefined ? this.options.settings.autoRefreshMs : intervalSeconds * 1_000;
    return Math.ceil(Math.min(Math.max(declared, POLL_INTERVAL), LONGEST_INTERVAL));
  }

  async #checkDue(): Promise<void> {
    const { autoRefreshes, settings } = this.options;
    let due: DueAutoRefresh[];
    do {
      due = await autoRefreshes.takeDue(AT_ONCE, CHECK_TIMEOUT, settings.on);
      await Promise.all(due.map((one) => this.#check(one)));
    } while (due.length === AT_ONCE && !this.#stopping);
  }

  async #check(due: DueAutoRefresh): Promise<void> {
    const { autoRefreshes, catalog, engine, storageOptions, log } = this.options;
    const state: RefreshState = due.state === "" ? {} : JSON.parse(due.state);
    let interval = this.options.settings.autoRefreshMs;
    try {
      const record = await catalog.tableByKey(due.table);
      if (!record) return;
      const table = engine.table(record.location, { ...storageOptions, ...record.storageOptions });
      const declared = await table.autoRefreshes();
      const declaration = declared.find(({ column }) => (column ?? "") === due.column);
      if (!declaration) return await autoRefreshes.remove(due);
      interval = this.#intervalOf(declaration);
      const checked = await checkRefresh(this.options, record, table, due.column, state);
      const next = Math.max(backedOff(interval, checked.state), checked.pauseMs);
      await autoRefreshes.checked(due, JSON.stringify(checked.state), next);
    } catch (err) {
      const failed = { ...state, failures: (state.failures ?? 0) + 1 };
      const message = "a column or view that refreshes itself could not be checked";
      if (failed.failures === 1) log.warn({ err, table: due.table, column: due.column }, message);
      await autoRefreshes
        .checked(due, JSON.stringify(failed), backedOff(interval, failed))
        // Then the check is repeated after CHECK_TIMEOUT.
        .catch((err) => log.warn({ err }, message));
    }
  }
}

const backedOff = (interval: number, { failures = 0 }: RefreshState): number =>
  interval * 2 ** Math.min(failures, MOST_DOUBLINGS);
