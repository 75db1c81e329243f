import pLimit from "p-limit";
import type { Catalog, ListingOptions, TableRecord } from "../catalog/catalog.js";
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

/**
 * If a measurement is older than this many times its validity, a request waits for a new one: no request asked for the
 * scope for long, for example because it had no limit.
 */
const TOO_OLD = 10;

/** Tables that are measured at the same time. */
const CONCURRENCY = 4;

/** Beyond this number of changed tables, all scopes are measured again instead. */
const MAX_CHANGED = 10_000;

export interface UsageDependencies extends TableDependencies {
  readonly catalog: TableDependencies["catalog"] & Pick<Catalog, "listAllTables" | "tableByKey">;
  readonly log: Pick<Logger, "warn">;
}

interface TableUsage extends Usage {
  readonly id: readonly string[];
  /** The key of the table's record: another table may get the name. */
  readonly key: string;
  readonly creator: string | null;
  /** When its measurement began, before the lookup of its record. */
  readonly beganMillis: number;
}

/**
 * What the tables of namespaces and of callers hold, from the manifests of their main branches.
 *
 * Tables that requests of this server changed are measured again at the next question, once for all scopes that they
 * belong to. All tables of a scope are measured again after a while, and before a request is refused. A table that
 * cannot be read counts with its last size, so that it does not block the writes to others.
 */
export class StorageUsage {
  /** By encoded identifier. */
  readonly #tables = new Map<string, TableUsage>();
  /** Identifiers of tables that have changed since their measurement. */
  readonly #changed = new Map<string, readonly string[]>();
  /** How often joust dropped the list of changed tables because it was too long. */
  #overflows = 0;
  /** Running measurements of changed tables. */
  readonly #measuringAgain = new Set<Promise<void>>();
  /** The last measurement of all tables of a scope, by the name of the scope. */
  readonly #measured = new Map<string, { endedMillis: number; tookMillis: number }>();
  /** Running measurements of all tables of a scope, by the name of the scope. */
  readonly #measuring = new Map<string, Promise<void>>();
  readonly #limited = pLimit(CONCURRENCY);
  /** Keys of the tables that the last measurement could not read, by name: each is logged once. */
  readonly #unreadable = new Map<string, string>();

  constructor(private readonly dependencies: UsageDependencies) {}

  tableChanged(id: readonly string[]): void {
    // Without a measurement there is nothing to correct.
    if (this.#measured.size === 0 && this.#measuring.size === 0) return;
    this.#changed.set(encodePath(id), id);
    if (this.#changed.size <= MAX_CHANGED) return;
    this.#changed.clear();
    this.#measured.clear();
    this.#overflows += 1;
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
    if (!isFull) return used;
    const ageNow = this.#ageMillis(limit) ?? Infinity;
    if (ageNow <= this.#validMillis(limit, VALID_FOR_REFUSAL_MILLIS)) return used;
    await this.#measure(limit);
    return this.#sum(limit);
  }

  #ageMillis(scope: StorageScope): number | undefined {
    const measured = this.#measured.get(nameOf(scope));
    return measured && performance.now() - measured.endedMillis;
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
    const running = this.#measuring.get(name);
    if (running) return running;
    const measuring = this.#measureTables(scope).finally(() => this.#measuring.delete(name));
    this.#measuring.set(name, measuring);
    return measuring;
  }

  async #measureTables(scope: StorageScope): Promise<void> {
    const began = performance.now();
    const overflows = this.#overflows;
    const ids = new Map<string, readonly string[]>();
    for (const id of await this.#tablesOf(scope)) ids.set(encodePath(id), id);
    // A table that is not listed may be new, or belong to another scope now.
    for (const [name, table] of this.#tables) if (includes(scope, table)) ids.set(name, table.id);
    // Few tables of a scope queue at a time, so that a changed table does not wait for all of them.
    const queued = pLimit(CONCURRENCY);
    await Promise.all([...ids.values()].map((id) => queued(() => this.#measureTable(id))));
    // Tables may have changed after their measurement, and no longer be noted as changed.
    if (overflows !== this.#overflows) return;
    const endedMillis = performance.now();
    this.#measured.set(nameOf(scope), { endedMillis, tookMillis: endedMillis - began });
  }

  async #tablesOf(scope: StorageScope): Promise<string[][]> {
    const found: string[][] = [];
    let pageToken: string | undefined;
    do {
      const page = await this.dependencies.catalog.listAllTables(
        { ...(pageToken !== undefined && { pageToken }) },
        { declared: false, ...selectionOf(scope) },
      );
      found.push(...page.items);
      pageToken = page.pageToken;
    } while (pageToken !== undefined);
    return found;
  }

  /** Measures the changed tables, and waits for those that other questions measure. */
  async #measureChanged(): Promise<void> {
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    for (const id of changed) {
      const measuring = this.#measureAgain(id).finally(() => {
        this.#measuringAgain.delete(measuring);
      });
      this.#measuringAgain.add(measuring);
    }
    await Promise.all(this.#measuringAgain);
  }

  async #measureAgain(id: readonly string[]): Promise<void> {
    try {
      await this.#measureTable(id);
    } catch (error) {
      this.tableChanged(id);
      throw error;
    }
  }

  #measureTable(id: readonly string[]): Promise<void> {
    return this.#limited(async () => {
      const name = encodePath(id);
      const beganMillis = performance.now();
      const usage = await this.#usageOf(id, beganMillis);
      const stored = this.#tables.get(name);
      // A measurement that began later may end earlier.
      if (stored && stored.beganMillis > beganMillis) return;
      if (usage) {
        this.#tables.set(name, usage);
      } else {
        this.#tables.delete(name);
        this.#unreadable.delete(name);
      }
    });
  }

  /** Returns undefined if the table does not count: it does not exist, or no scope includes it. */
  async #usageOf(id: readonly string[], beganMillis: number): Promise<TableUsage | undefined> {
    let record: TableRecord | undefined;
    try {
      record = await this.dependencies.catalog.table(id);
      const { key, creator } = record;
      if (!this.#isInScope(id, creator)) return undefined;
      const { numRows, totalBytes } = await tableHandle(this.dependencies, record).stats();
      this.#unreadable.delete(encodePath(id));
      return { id, key, creator, rows: numRows, bytes: totalBytes, beganMillis };
    } catch (error) {
      // The catalog alone decides whether the table exists: its files may be missing.
      if (record ? await this.#isDropped(record) : isMissing(error)) return undefined;
      if (!record) throw error;
      const { key, creator } = record;
      const last = this.#tables.get(encodePath(id));
      const empty = { id, key, creator, rows: 0, bytes: 0, beganMillis };
      const usage = last?.key === key ? last : empty;
      this.#logUnreadable(record, usage, error);
      return usage;
    }
  }

  /** Whether any scope that is or was measured includes the table. */
  #isInScope(id: readonly string[], creator: string | null): boolean {
    return scopesOf(id, creator)
      .map(nameOf)
      .some((name) => this.#measured.has(name) || this.#measuring.has(name));
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

  #logUnreadable({ id, key, declared }: TableRecord, { rows, bytes }: Usage, err: unknown): void {
    const name = encodePath(id);
    // A declared table has no version that could be read.
    if (declared || this.#unreadable.get(name) === key) return;
    this.#unreadable.set(name, key);
    this.dependencies.log.warn(
      { err, table: id.join("$"), rows, bytes },
      "a table could not be measured; it counts for limits with its last known size: repair or drop it",
    );
  }
}

/** The key of a scope in maps. */
const nameOf = (scope: StorageScope): string =>
  "namespace" in scope ? `namespace:${encodePath(scope.namespace)}` : `creator:${scope.creator}`;

/** The members of the listing of all tables that select those of a scope. The root namespace has all. */
function selectionOf(scope: StorageScope): Pick<ListingOptions, "creator" | "within"> {
  if ("creator" in scope) return { creator: scope.creator };
  return scope.namespace.length > 0 ? { within: scope.namespace } : {};
}

const includes = (scope: StorageScope, { id, creator }: TableUsage): boolean =>
  "namespace" in scope ? isBelow(id, scope.namespace) : creator === scope.creator;

/** All scopes that include a table. */
const scopesOf = (id: readonly string[], creator: string | null): StorageScope[] => [
  ...id.map((_, depth) => ({ namespace: id.slice(0, depth) })),
  ...(creator === null ? [] : [{ creator }]),
];

const isMissing = (error: unknown): boolean =>
  hasCode(error, ErrorCode.TableNotFound) || hasCode(error, ErrorCode.NamespaceNotFound);
