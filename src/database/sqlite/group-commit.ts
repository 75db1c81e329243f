import { setTimeout as delay } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import type { Write } from "../database.js";
import type { CatalogSchema } from "../schema.js";
import { isBusy } from "../sql-error.js";

interface Entry {
  work(transaction: Write): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

const MAX_GROUP = 256;
/** How long a group tries to get the write lock of the file, and the longest pause between two tries, ms. */
const LOCK_TIMEOUT = 5_000;
const MAX_RETRY_PAUSE = 10;

/**
 * Group commit: writes that arrive together share one transaction and one fsync.
 *
 * Each write of a larger group has a savepoint, so that it fails alone. The promises of the callers complete after the
 * commit.
 */
export class GroupCommit {
  #queue: Entry[] = [];
  #busy = false;

  constructor(
    private readonly db: Kysely<CatalogSchema>,
    /** Called after each commit, before the promises of its writers complete. */
    private readonly committed: () => void,
  ) {}

  write<T>(work: (transaction: Write) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#busy) {
        this.#busy = true;
        // After the requests that arrived together with this one.
        setImmediate(() => void this.#drain());
      }
    });
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) await this.#commit(this.#queue.splice(0, MAX_GROUP));
    this.#busy = false;
  }

  async #commit(group: readonly Entry[]): Promise<void> {
    const deadline = performance.now() + LOCK_TIMEOUT;
    for (;;) {
      try {
        const completions = await this.#try(group);
        this.committed();
        for (const complete of completions) complete();
        return;
      } catch (error) {
        // Safe to repeat: SQLITE_BUSY occurs before the first change, or the transaction is rolled back.
        const canRetry = isBusy(error) && performance.now() < deadline;
        if (!canRetry) {
          for (const entry of group) entry.reject(error);
          return;
        }
        await delay(1 + Math.random() * MAX_RETRY_PAUSE);
      }
    }
  }

  #try(group: readonly Entry[]): Promise<(() => void)[]> {
    return this.db.transaction().execute(async (transaction) => {
      const [first] = group;
      if (first && group.length === 1) {
        const value = await first.work(transaction);
        return [() => first.resolve(value)];
      }
      const completions: (() => void)[] = [];
      for (const entry of group) completions.push(await attempt(entry, transaction));
      return completions;
    });
  }
}

/** Runs one write of a group. Returns a function that settles its promise after the commit. */
async function attempt(entry: Entry, transaction: Write): Promise<() => void> {
  await sql`savepoint entry`.execute(transaction);
  try {
    const value = await entry.work(transaction);
    return () => entry.resolve(value);
  } catch (error) {
    await sql`rollback to entry`.execute(transaction);
    return () => entry.reject(error);
  } finally {
    await sql`release entry`.execute(transaction);
  }
}
