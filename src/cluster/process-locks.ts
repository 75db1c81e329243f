import { existsSync, rmSync } from "node:fs";
import Database from "libsql";
import { makePrivate } from "../database/sqlite/connection.js";

/**
 * The servers of a SQLite catalog, each of which holds a lock on a file of its own as long as it
 * lives. The operating system gives the lock up with the process, however it ends: so everybody on
 * the machine can tell at once, and for certain, who is gone.
 */
export class ProcessLocks {
  readonly #held = new Map<string, Database.Database>();

  constructor(private readonly catalogPath: string) {}

  #file(id: string): string {
    return `${this.catalogPath}-server-${id}`;
  }

  /** Begins to live. */
  take(id: string): void {
    makePrivate(this.#file(id));
    const lock = tryLock(this.#file(id));
    if (!lock) throw new Error("a server's own lock is taken");
    this.#held.set(id, lock);
  }

  /** Ends. */
  release(id: string): void {
    this.#held.get(id)?.close();
    this.#held.delete(id);
    this.#remove(id);
  }

  /** Whether that server's process has ended; what is left of its lock goes. */
  isGone(id: string): boolean {
    if (!existsSync(this.#file(id))) return true;
    const lock = tryLock(this.#file(id));
    if (!lock) return false;
    lock.close();
    this.#remove(id);
    return true;
  }

  #remove(id: string): void {
    for (const end of ["", "-journal"]) rmSync(`${this.#file(id)}${end}`, { force: true });
  }
}

/** Undefined when another process has it. */
function tryLock(path: string): Database.Database | undefined {
  const database = new Database(path, { timeout: 0 });
  try {
    database.exec("begin exclusive");
    return database;
  } catch (error) {
    database.close();
    if (error instanceof Error && "code" in error && error.code === "SQLITE_BUSY") return undefined;
    throw error;
  }
}
