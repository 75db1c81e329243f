import pLimit from "p-limit";
import type { Catalog, TableRecord } from "../catalog/catalog.js";
import { encodePath, isBelow } from "../catalog/path.js";
import { ErrorCode, hasCode } from "../foundation/errors.js";
import { checkLive, type TableDependencies, tableHandle } from "../tables/open-table.js";
import type { Logger } from "../telemetry/logger.js";
import type { StorageLimit, StorageScope, Usage } from "./limit-owner.js";

/** How long a measurement is valid, ms. It finds what other servers and other tools wrote. */
const VALID_MILLIS = 30_000;

/** A request is refused only by a measurement that is not older, ms. It finds what was deleted. */
const VALID_FOR_REFUSAL_MILLIS = 1_000;

/** A measurement is valid for at least so many times the time that it took. */
const LEAST_PAUSE = 20;

/** A measurement that is so many times older is no answer while another one runs: the limits were off meanwhile. */
const TOO_OLD = 10;

/** Tables that are measured at the same time. */
const CONCURRENCY = 4;

export interface UsageDependencies extends TableDependencies {
  readonly catalog: TableDependencies["catalog"] & Pick<Catalog, "listAllTables" | "tableByKey">;
  readonly log: Pick<Logger, "warn">;
}

interface TableUsage extends Usage {
  readonly id: readonly string[];
  /** The key of the table's record: another table may get the name. */
  readonly key: string;
  readonly creator: string | null;
  readonly atMillis: number;
}

/**
 * What the tables of namespaces and of callers hold, from the manifests of their main branches.
 *
 * Tables that requests of this server changed are measured again at the next question, once for all scopes that they
 * belong to. All tables of a scope are measured again after a while, and before a request is refused. A table that cannot
 * be read counts with its last size, so that it does not block the writes to others.
 */
export class StorageUsage {
  /** By encoded identifier. */
  readonly #tables = new Map<string, TableUsage>();
  /** Identifiers of tables that have changed since their measurement. */
  readonly #changed = new Map<string, readonly string[]>();
  /** The last measurement of all tables of a scope, by the name of the scope. */
  readonly #measured = new Map<string, { atMillis: number; tookMillis: number }>();
  readonly #running = new Map<string, Promise<void>>();
  /** Keys of the tables that the last measurement could not read, by name: each is logged once. */
  readonly #unreadable = new Map<string, string>();

  constructor(private readonly dependencies: UsageDependencies) {}

  tableChanged(id: readonly string[]): void {
    // Without a measurement there is nothing to correct.
    if (this.#measured.size > 0) this.#changed.set(encodePath(id), id);
  }

  async of(limit: StorageLimit): Promise<Usage> {
    const { rows, bytes } = limit;
    const age = this.#ageMillis(limit);
    const valid = this.#validMillis(limit, VALID_MILLIS);
    if (age === undefined || age > TOO_OLD * valid) await this.#measure(limit);
    else if (age > valid) {
      void this.#measure(limit).catch(() => {});
    }
    await this.#measureChanged();
    const used = this.#sum(limit);
    const isFull = used.rows >= (rows ?? Infinity) || used.bytes >= (bytes ?? Infinity);
    if (!isFull || age === undefined) return used;
    if (age > this.#validMillis(limit, VALID_FOR_REFUSAL_MILLIS)) {
      await this.#measure(limit);
      return this.#sum(limit);
    }
    return used;
  }

  #ageMillis(scope: StorageScope): number | undefined {
    const measured = this.#measured.get(nameOf(scope));
    return measured && performance.now() - measured.atMillis;
  }

  #validMillis(scope: StorageScope, least: number): number {
    const took = this.#measured.get(nameOf(scope))?.tookMillis ?? 0;
    return Math.max(least, took * LEAST_PAUSE);
  }

  #sum(scope: StorageScope): Usage {
    const sum = { rows: 0, bytes: 0 };
    for (const table of this.#tables.values()) {
      if (!includes(scope, table)) continue;
      sum.rows += table.rows;
      sum.bytes += table.bytes;
    }
    return sum;
  }

  /** Measures all tables of a scope. A second call waits for the running one. */
  #measure(scope: StorageScope): Promise<void> {
    const name = nameOf(scope);
    const running = this.#running.get(name);
    if (running) return running;
    const measuring = this.#measureTables(scope).finally(() => this.#running.delete(name));
    this.#running.set(name, measuring);
    return measuring;
  }

  async #measureTables(scope: StorageScope): Promise<void> {
    const began = performance.now();
    const ids = await this.#tablesOf(scope);
    const names = new Set(ids.map((id) => encodePath(id)));
    for (const [name, table] of this.#tables) {
      // A table that this server created after the listing began need not be in it.
      const isListed = names.has(name) || table.atMillis > began;
      if (includes(scope, table) && !isListed) this.#forget(table.id);
    }
    const limit = pLimit(CONCURRENCY);
    await Promise.all(ids.map((id) => limit(() => this.#measureTable(id))));
    const tookMillis = performance.now() - began;
    this.#measured.set(nameOf(scope), { atMillis: performance.now(), tookMillis });
  }

  async #tablesOf(scope: StorageScope): Promise<string[][]> {
    const found: string[][] = [];
    let pageToken: string | undefined;
    do {
      const page = await this.dependencies.catalog.listAllTables(
        { ...(pageToken !== undefined && { pageToken }) },
        { declared: false, ...("creator" in scope && { creator: scope.creator }) },
      );
      found.push(...page.items.filter((id) => "creator" in scope || isBelow(id, scope.namespace)));
      pageToken = page.pageToken;
    } while (pageToken !== undefined);
    return found;
  }

  async #measureChanged(): Promise<void> {
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    await Promise.all(changed.map((id) => this.#measureTable(id)));
  }

  async #measureTable(id: readonly string[]): Promise<void> {
    let record: TableRecord | undefined;
    try {
      record = await this.dependencies.catalog.table(id);
      const { numRows, totalBytes } = await tableHandle(this.dependencies, record).stats();
      const name = encodePath(id);
      const { key, creator } = record;
      const usage = { rows: numRows, bytes: totalBytes, atMillis: performance.now() };
      this.#tables.set(name, { id, key, creator, ...usage });
      this.#unreadable.delete(name);
    } catch (error) {
      // The catalog alone decides whether the table exists: its files may be missing.
      if (record ? await this.#isDropped(record) : isMissing(error)) this.#forget(id);
      else if (record) this.#keepLast(record, error);
      else throw error;
    }
  }

  async #isDropped(record: TableRecord): Promise<boolean> {
    try {
      await checkLive(this.dependencies, record);
      return false;
    } catch (error) {
      if (isMissing(error)) return true;
      throw error;
    }
  }

  #forget(id: readonly string[]): void {
    const name = encodePath(id);
    this.#tables.delete(name);
    this.#unreadable.delete(name);
  }

  /** Lets a table that cannot be read count with its last size; with nothing if there is none. */
  #keepLast({ id, key, declared }: TableRecord, err: unknown): void {
    const name = encodePath(id);
    if (this.#tables.get(name)?.key !== key) this.#tables.delete(name);
    // A declared table has no version that could be read.
    if (declared || this.#unreadable.get(name) === key) return;
    this.#unreadable.set(name, key);
    const { rows, bytes } = this.#tables.get(name) ?? { rows: 0, bytes: 0 };
    this.dependencies.log.warn(
      { err, table: id.join("$"), rows, bytes },
      "a table could not be measured; it counts for limits with its last known size: repair or drop it",
    );
  }
}

/** The key of a scope in maps. */
const nameOf = (scope: StorageScope): string =>
  "namespace" in scope ? `namespace:${encodePath(scope.namespace)}` : `creator:${scope.creator}`;

const includes = (scope: StorageScope, { id, creator }: TableUsage): boolean =>
  "namespace" in scope ? isBelow(id, scope.namespace) : creator === scope.creator;

const isMissing = (error: unknown): boolean =>
  hasCode(error, ErrorCode.TableNotFound) || hasCode(error, ErrorCode.NamespaceNotFound);
