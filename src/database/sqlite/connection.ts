import { closeSync, openSync } from "node:fs";
import type { SqliteDatabase, SqliteStatement } from "kysely";
import Database from "libsql";

/** How long the opening of a file waits for the lock of another process, ms. */
const OPEN_TIMEOUT = 5_000;
/** How long a statement waits for the lock, ms. Short, because it blocks the event loop: group-commit.ts retries. */
const BUSY_TIMEOUT = 10;
/** Prepared statements in the cache. */
const MAX_STATEMENTS = 256;

/**
 * Creates a file that only this user can read and write, unless it exists. SQLite would create it with the user's
 * default permissions. The files that SQLite creates beside it get the same permissions.
 *
 * An existing file is not opened: to close it would release all POSIX locks of this process on it.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // The file exists, or SQLite reports why it cannot be opened.
  }
}

/** Opens a database file: durable, shared with other processes. */
export function openFile(path: string): Database.Database {
  makePrivate(path);
  const database = new Database(path, { timeout: OPEN_TIMEOUT });
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  // macOS: fsync alone does not flush the disk cache.
  database.pragma("fullfsync = ON");
  database.pragma("foreign_keys = ON");
  return database;
}

/**
 * Adapts a libsql database to Kysely's SQLite dialect and avoids three defects of libsql:
 *
 * - A prepared write that fails with SQLITE_BUSY stays open, and no later write of the connection is committed. So
 *   `exec` always takes the write lock first; it leaves no open statement.
 * - `get` after `all` on the same statement uses the earlier parameters. So only `all` and `run` are used.
 * - A bound boolean aborts the process. So `checked` rejects booleans.
 */
export class SqliteConnection implements SqliteDatabase {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(path: string) {
    this.#database = openFile(path);
  }

  /** To be called after the migrations: later statements wait only shortly for other processes. */
  shortenBusyTimeout(): void {
    this.#database.pragma(`busy_timeout = ${BUSY_TIMEOUT}`);
  }

  prepare(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#control(sql) ?? this.#statement(sql);
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  /** Returns the statement if it begins or ends a transaction. */
  #control(sql: string): SqliteStatement | undefined {
    const commands: Record<string, () => void> = {
      begin: () => this.#database.exec("begin immediate"),
      commit: () => this.#database.exec("commit"),
      // SQLite has already rolled back when the disk was full.
      rollback: () => {
        if (this.#database.inTransaction) this.#database.exec("rollback");
      },
    };
    const command = commands[sql];
    return (
      command &&
      writing(() => {
        command();
        return 0;
      })
    );
  }

  #statement(sql: string): SqliteStatement {
    const prepared = this.#database.prepare<unknown[]>(sql);
    if (!prepared.reader) {
      return writing((parameters) =>
        this.#inTransaction(() => prepared.run(checked(parameters)).changes),
      );
    }
    return {
      reader: true,
      all: (parameters) => prepared.all(checked(parameters)),
      run: () => neverCalled("run"),
      iterate: () => neverCalled("iterate"),
    };
  }

  /** Runs a write in the open transaction, or in a new one. */
  #inTransaction<T>(write: () => T): T {
    if (this.#database.inTransaction) return write();
    this.#database.exec("begin immediate");
    try {
      const result = write();
      this.#database.exec("commit");
      return result;
    } catch (error) {
      if (this.#database.inTransaction) this.#database.exec("rollback");
      throw error;
    }
  }
}

type Run = (parameters: readonly unknown[]) => number;

/** A statement without rows. */
const writing = (run: Run): SqliteStatement => ({
  reader: false,
  all: () => neverCalled("all"),
  run: (parameters) => ({ changes: run(parameters), lastInsertRowid: 0 }),
  iterate: () => neverCalled("iterate"),
});

function checked(parameters: readonly unknown[]): unknown[] {
  for (const parameter of parameters) {
    if (typeof parameter === "boolean")
      throw new TypeError("a boolean cannot be bound; use 0 or 1");
  }
  return parameters as unknown[];
}

function neverCalled(method: string): never {
  throw new TypeError(`${method} must not be called for this kind of statement`);
}
