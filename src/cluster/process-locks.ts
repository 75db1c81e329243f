import { existsSync, rmSync } from "node:fs";
import Database from "libsql";
import { makePrivate } from "../database/sqlite/connection.js";

/**
 * The locks of the servers of a SQLite catalog. Each server locks a file of its own while it runs. The operating
 * system releases the lock with the process, however the process ends. So every process on the machine can check
 * reliably whether a server is dead.
 */
export class ProcessLocks {
  readonly #held = new Map<string, Database.Database>();

  constructor(private readonly catalogPath: string) {}

  take(id: string): void {
    makePrivate(this.#file(id));
    const lock = tryLock(this.#file(id));
    if (!lock) throw new Error("the lock of this server is held by another process");
    this.#held.set(id, lock);
  }

  release(id: string): void {
    this.#held.get(id)?.close();
    this.#held.delete(id);
    this.#remove(id);
  }

  /** Whether the process of that server has ended. Removes the files of its lock then. */
  isDead(id: string): boolean {
    if (!existsSync(this.#file(id))) return true;
    const lock = tryLock(this.#file(id));
    if (!lock) return false;
    lock.close();
    this.#remove(id);
    return true;
  }

  #file(id: string): string {
    return `${this.catalogPath}-server-${id}`;
  }

  #remove(id: string): void {
    for (const suffix of ["", "-journal"]) rmSync(`${this.#file(id)}${suffix}`, { force: true });
  }
}

/** Returns undefined when another process holds the lock. */
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
