import { randomUUID } from "node:crypto";
import type { RetryQueue } from "../../cluster/retry-queue.js";
import { withCommitLock } from "../../database/commit-lock.js";
import type { CatalogDatabase } from "../../database/database.js";
import { OutcomeUnknown } from "../../database/sql-error.js";
import { ORPHAN, orphanTables } from "./orphaned-tables.js";

/** A transaction that drops tables or takes them over. */
export interface TableDrop {
  /** The server that removes the files. */
  readonly self: string;
  /** The tables whose files it removes after the transaction, which sets this. */
  keys: readonly string[];
}

/**
 * The tables that this server drops or takes over. If the connection breaks during the COMMIT, no request removes their
 * files, and the other servers wait for this one. Such tables are orphaned: then any server removes the files.
 */
export class TableDrops {
  /** The tables whose files a request of this server removes. */
  readonly #removing = new Set<string>();

  constructor(
    private readonly db: CatalogDatabase,
    private readonly self: string,
    private readonly retryQueue: RetryQueue,
  ) {}

  /** Runs a transaction that drops tables or takes them over. */
  async run<T>(transaction: (db: CatalogDatabase, drop: TableDrop) => Promise<T>): Promise<T> {
    // A write that is still pending would orphan a table whose files a request begins to remove.
    await this.retryQueue.flush(ORPHAN);
    const drop: TableDrop = { self: this.self, keys: [] };
    const db = withCommitLock(this.db);
    try {
      const result = await transaction(db, drop);
      for (const key of drop.keys) this.#removing.add(key);
      return result;
    } catch (error) {
      if (error instanceof OutcomeUnknown && drop.keys.length > 0) {
        await this.#orphan(db, drop.keys);
      }
      throw error;
    }
  }

  /** The files of the table are removed, or another server removes them. */
  end(key: string): void {
    this.#removing.delete(key);
  }

  #orphan(db: CatalogDatabase, keys: readonly string[]): Promise<void> {
    return this.retryQueue.run(`${ORPHAN}tables of a drop: ${randomUUID()}`, () => {
      // If the drop did not take effect, a later one may have succeeded.
      const left = keys.filter((key) => !this.#removing.has(key));
      return orphanTables(db, this.self, left);
    });
  }
}
