import type { Compilable } from "kysely";
import type Database from "libsql";
import { openFile } from "./connection.js";

/** A counter that the threads of a process share: it changes with each commit of one of them. */
export interface Epoch {
  current(): number;
  raise(): void;
}

/** For a process in which one thread uses the catalog. */
export function localEpoch(): Epoch {
  let epoch = 0;
  return { current: () => epoch, raise: () => void epoch++ };
}

/** How long the reader may miss a commit of another process, ms. */
const MAX_AGE = 1;

/**
 * A read-only connection to the catalog file with synchronous queries. Each thread has one.
 *
 * `PRAGMA data_version` shows in 10 µs whether any connection has committed. That is half of the time of a short
 * request, so the reader runs it once in a millisecond at most. It sees a commit of another process (for example a key
 * made by the command line) at most that much later, and a commit of this process at once: it raises the epoch.
 */
export class CurrentReader {
  readonly #database: Database.Database;
  readonly #dataVersion: Database.Statement<[]>;
  #version = Number.NaN;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #epoch = Number.NaN;

  constructor(
    path: string,
    private readonly epoch: Epoch = localEpoch(),
  ) {
    this.#database = openFile(path);
    this.#database.pragma("query_only = ON");
    this.#dataVersion = this.#database.prepare<[]>("pragma data_version").raw();
  }

  /** Returns a number that changes with each commit. */
  version(): number {
    const now = performance.now();
    const epoch = this.epoch.current();
    if (epoch !== this.#epoch || now - this.#checkedAt >= MAX_AGE) {
      this.#epoch = epoch;
      this.#version = (this.#dataVersion.get() as [number])[0];
      this.#checkedAt = now;
    }
    return this.#version;
  }

  /** To be called after every commit of this process: all threads check the file before their next answer. */
  readonly expire = (): void => this.epoch.raise();

  /** Prepares a query of one row. Each call passes the parameters in the order of the SQL text. */
  prepare<Row>(query: Compilable<Row>): (...parameters: string[]) => Row | undefined {
    const all = this.prepareAll(query);
    return (...parameters) => all(...parameters)[0];
  }

  /** Like `prepare`, for a query of several rows. */
  prepareAll<Row>(query: Compilable<Row>): (...parameters: string[]) => Row[] {
    const statement = this.#database.prepare<string[]>(query.compile().sql);
    return (...parameters) => statement.all(...parameters) as Row[];
  }

  close(): void {
    this.#database.close();
  }
}

/** Caches values of single rows until the reader sees the next commit: see `CurrentReader`. */
export class CurrentCache<Value> {
  readonly #values = new Map<string, Value>();
  #version = Number.NaN;

  constructor(
    private readonly reader: CurrentReader,
    private readonly load: (key: string) => Value | undefined,
    private readonly maxEntries = 50_000,
  ) {}

  get(key: string): Value | undefined {
    const version = this.reader.version();
    if (version !== this.#version) {
      this.#values.clear();
      this.#version = version;
    }
    let value = this.#values.get(key);
    if (value === undefined) {
      value = this.load(key);
      if (value !== undefined) this.#store(key, value);
    }
    return value;
  }

  #store(key: string, value: Value): void {
    if (this.#values.size >= this.maxEntries) this.#values.clear();
    this.#values.set(key, value);
  }
}
