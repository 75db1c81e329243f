import { type Kysely, sql } from "kysely";
import type { Write } from "../database.js";
import type { CatalogSchema } from "../schema.js";

interface Entry {
  work(transaction: Write): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

const MAX_GROUP = 256;

/**
 * Writes that arrive together share one transaction, and with it one wait for the disk.
 *
 * Each write has its own savepoint: it succeeds or fails alone. Callers are answered after the
 * commit, so an answer means durable.
 */
export class GroupCommit {
  #queue: Entry[] = [];
  #busy = false;

  constructor(
    private readonly db: Kysely<CatalogSchema>,
    /** Told of every commit before those whose writes are in it. */
    private readonly committed: () => void,
  ) {}

  write<T>(work: (transaction: Write) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#busy) {
        this.#busy = true;
        // After the requests that came in with this one.
        setImmediate(() => void this.#drain());
      }
    });
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) await this.#commit(this.#queue.splice(0, MAX_GROUP));
    this.#busy = false;
  }

  async #commit(group: readonly Entry[]): Promise<void> {
    const answers: (() => void)[] = [];
    try {
      await this.db.transaction().execute(async (transaction) => {
        for (const entry of group) answers.push(await attempt(entry, transaction));
      });
    } catch (error) {
      for (const entry of group) entry.reject(error);
      return;
    }
    this.committed();
    for (const answer of answers) answer();
  }
}

/** Runs one write of a group; gives back how its caller is to be answered after the commit. */
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
