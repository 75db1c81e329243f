import { closeSync, openSync } from "node:fs";
import type { SqliteDatabase, SqliteStatement } from "kysely";
import Database from "libsql";

/** How long opening a file waits for another process, ms. */
const OPEN_TIMEOUT = 5_000;
/** How long a statement does, ms. The event loop stands still meanwhile: what can wait tries again. */
const BUSY_TIMEOUT = 10;
const MAX_STATEMENTS = 256;

/**
 * Makes a file that only this user can read and write, unless it is there: SQLite would make it with the rights
 * that the user gives other files. The files that SQLite puts beside it get the same rights.
 *
 * One that is there is not opened: closing it would give up all locks that this process has on it.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // It is there, or SQLite says why it cannot be opened.
  }
}

/** Opens a database file the way the catalog needs it: durable, shared with other processes. */
export function openFile(path: string): Database.Database {
  makePrivate(path);
  const database = new Database(path, { timeout: OPEN_TIMEOUT });
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  // macOS: fsync alone does not reach the disk.
  database.pragma("fullfsync = ON");
  database.pragma("foreign_keys = ON");
  return database;
}

/**
 * A libsql database as Kysely's SQLite dialect wants it, with three of libsql's habits kept away:
 *
 * - A prepared write that fails with SQLITE_BUSY stays open, and from then on nothing the
 *   connection writes is committed. So the write lock is always taken first, through `exec`,
 *   which leaves nothing behind.
 * - `get` after `all` on one statement answers with the earlier parameters. Only `all` and `run`
 *   are used.
 * - Binding a boolean aborts the process.
 */
export class SqliteConnection implements SqliteDatabase {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(path: string) {
    this.#database = openFile(path);
  }

  /** The file is ready for use: from here on nothing waits long for another process. */
  opened(): void {
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

  /** The statements that open and end a transaction. */
  #control(sql: string): SqliteStatement | undefined {
    const commands: Record<string, () => void> = {
      begin: () => this.#database.exec("begin immediate"),
      commit: () => this.#database.exec("commit"),
      // A full disk has already rolled back.
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
      return writing((parameters) => this.#locked(() => prepared.run(checked(parameters)).changes));
    }
    return {
      reader: true,
      all: (parameters) => prepared.all(checked(parameters)),
      run: () => neverCalled("run"),
      iterate: () => neverCalled("iterate"),
    };
  }

  /** Runs a write inside the transaction that is open, or in one of its own. */
  #locked<T>(write: () => T): T {
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
  throw new TypeError(`${method} does not fit this statement`);
}
