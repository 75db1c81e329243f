import type { Compilable } from "kysely";
import type Database from "libsql";
import { openFile } from "./connection.js";

/** Tells threads of one process that one of them has committed something. */
export interface Epoch {
  /** Another number after each commit. */
  current(): number;
  raise(): void;
}

/** Of a process with one thread that has the catalog. */
export function localEpoch(): Epoch {
  let epoch = 0;
  return { current: () => epoch, raise: () => void epoch++ };
}

/** How long an answer about other processes' commits is good, ms. */
const MAX_AGE = 1;

/**
 * A second, reading connection to the catalog file that answers without a promise. Each thread has one.
 *
 * It sees every commit, those of this process's writing connection included, and can tell in 10 µs
 * whether there was one (`PRAGMA data_version`). That is half of what a short request takes, so it
 * asks once in a millisecond: a commit of another process (a key made by the command line) counts
 * that much later at most, one of this process, whose epoch it raises, at once.
 */
export class CurrentReader {
  readonly #database: Database.Database;
  readonly #dataVersion: Database.Statement<[]>;
  #version = Number.NaN;
  #asked = Number.NEGATIVE_INFINITY;
  #epoch = Number.NaN;

  constructor(
    path: string,
    private readonly epoch: Epoch = localEpoch(),
  ) {
    this.#database = openFile(path);
    this.#database.pragma("query_only = ON");
    this.#dataVersion = this.#database.prepare<[]>("pragma data_version").raw();
  }

  /** A number that differs whenever anything was committed since it was last asked for. */
  version(): number {
    const now = performance.now();
    const epoch = this.epoch.current();
    if (epoch !== this.#epoch || now - this.#asked >= MAX_AGE) {
      this.#epoch = epoch;
      this.#version = (this.#dataVersion.get() as [number])[0];
      this.#asked = now;
    }
    return this.#version;
  }

  /** To be called after every commit of this process: all threads' next question goes to the file. */
  readonly expire = (): void => this.epoch.raise();

  /** Prepares a query; its parameters are given at each call, in the order of the text. */
  prepare<Row>(query: Compilable<Row>): (...parameters: string[]) => Row | undefined {
    const statement = this.#database.prepare<string[]>(query.compile().sql);
    return (...parameters) => statement.all(...parameters)[0] as Row | undefined;
  }

  close(): void {
    this.#database.close();
  }
}

/** Values derived from single rows, kept as long as nothing is committed: never stale. */
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
      if (value !== undefined) this.#keep(key, value);
    }
    return value;
  }

  #keep(key: string, value: Value): void {
    if (this.#values.size >= this.maxEntries) this.#values.clear();
    this.#values.set(key, value);
  }
}
