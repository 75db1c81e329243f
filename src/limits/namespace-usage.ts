import pLimit from "p-limit";
import type { Catalog, TableRecord } from "../catalog/catalog.js";
import { encodePath, isBelow } from "../catalog/path.js";
import { ErrorCode, hasCode } from "../foundation/errors.js";
import { checkLive, type TableDependencies, tableHandle } from "../tables/open-table.js";
import type { Logger } from "../telemetry/logger.js";
import type { StorageLimit, Usage } from "./limit-owner.js";

/** How long a measurement of a namespace is valid, ms. It finds what other servers and other tools wrote. */
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
}

/**
 * What namespaces hold, from the manifests of their tables' main branches.
 *
 * Tables that requests of this server changed are measured again at the next question. All tables of a namespace are
 * measured again after a while, and before a request is refused. A table that cannot be read counts with its last size,
 * so that it does not block the writes to others.
 */
export class NamespaceUsage {
  readonly #tables = new Map<string, TableUsage>();
  /** Identifiers of tables that have changed since their measurement. */
  readonly #changed = new Map<string, readonly string[]>();
  readonly #measured = new Map<string, { atMillis: number; tookMillis: number }>();
  readonly #running = new Map<string, Promise<void>>();
  /** Keys of the tables that the last measurement could not read, by name: each is logged once. */
  readonly #unreadable = new Map<string, string>();

  constructor(private readonly dependencies: UsageDependencies) {}

  tableChanged(id: readonly string[]): void {
    // Without a measurement there is nothing to correct.
    if (this.#measured.size > 0) this.#changed.set(encodePath(id), id);
  }

  async of({ namespace, rows, bytes }: StorageLimit): Promise<Usage> {
    const age = this.#ageMillis(namespace);
    const valid = this.#validMillis(namespace, VALID_MILLIS);
    if (age === undefined || age > TOO_OLD * valid) await this.#measure(namespace);
    else if (age > valid) {
      void this.#measure(namespace).catch(() => {});
    }
    await this.#measureChanged();
    const used = this.#sum(namespace);
    const isFull = used.rows >= (rows ?? Infinity) || used.bytes >= (bytes ?? Infinity);
    if (!isFull || age === undefined) return used;
    if (age > this.#validMillis(namespace, VALID_FOR_REFUSAL_MILLIS)) {
      await this.#measure(namespace);
      return this.#sum(namespace);
    }
    return used;
  }

  #ageMillis(namespace: readonly string[]): number | undefined {
    const measured = this.#measured.get(encodePath(namespace));
    return measured && performance.now() - measured.atMillis;
  }

  #validMillis(namespace: readonly string[], least: number): number {
    const took = this.#measured.get(encodePath(namespace))?.tookMillis ?? 0;
    return Math.max(least, took * LEAST_PAUSE);
  }

  #sum(namespace: readonly string[]): Usage {
    const sum = { rows: 0, bytes: 0 };
    for (const { id, rows, bytes } of this.#tables.values()) {
      if (!isBelow(id, namespace)) continue;
      sum.rows += rows;
      sum.bytes += bytes;
    }
    return sum;
  }

  /** Measures all tables of a namespace. A second call waits for the running one. */
  #measure(namespace: readonly string[]): Promise<void> {
    const name = encodePath(namespace);
    const running = this.#running.get(name);
    if (running) return running;
    const measuring = this.#measureTables(namespace).finally(() => this.#running.delete(name));
    this.#running.set(name, measuring);
    return measuring;
  }

  async #measureTables(namespace: readonly string[]): Promise<void> {
    const began = performance.now();
    const ids = await this.#tablesBelow(namespace);
    const names = new Set(ids.map((id) => encodePath(id)));
    for (const [name, { id }] of this.#tables) {
      if (isBelow(id, namespace) && !names.has(name)) this.#forget(id);
    }
    const limit = pLimit(CONCURRENCY);
    await Promise.all(ids.map((id) => limit(() => this.#measureTable(id))));
    const tookMillis = performance.now() - began;
    this.#measured.set(encodePath(namespace), { atMillis: performance.now(), tookMillis });
  }

  async #tablesBelow(namespace: readonly string[]): Promise<string[][]> {
    const found: string[][] = [];
    let pageToken: string | undefined;
    do {
      const page = await this.dependencies.catalog.listAllTables(
        { ...(pageToken !== undefined && { pageToken }) },
        { declared: false },
      );
      found.push(...page.items.filter((id) => isBelow(id, namespace)));
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
      this.#tables.set(name, { id, key: record.key, rows: numRows, bytes: totalBytes });
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

const isMissing = (error: unknown): boolean =>
  hasCode(error, ErrorCode.TableNotFound) || hasCode(error, ErrorCode.NamespaceNotFound);
