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
/** How long a group tries to get its turn among other processes, ms, and how long it waits between. */
const PATIENCE = 5_000;
const LONGEST_PAUSE = 10;

/**
 * Writes that arrive together share one transaction, and with it one wait for the disk.
 *
 * Where there are several, each has its own savepoint: it succeeds or fails alone. Callers are answered
 * after the commit, which is on the disk where one of them waits for that.
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
    const giveUp = performance.now() + PATIENCE;
    for (;;) {
      try {
        const answers = await this.#try(group);
        this.committed();
        for (const answer of answers) answer();
        return;
      } catch (error) {
        // Then nothing is changed: the lock is taken before anything else, and lone work is undone.
        const mayTryAgain = isBusy(error) && performance.now() < giveUp;
        if (!mayTryAgain) {
          for (const entry of group) entry.reject(error);
          return;
        }
        await delay(1 + Math.random() * LONGEST_PAUSE);
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
      const answers: (() => void)[] = [];
      for (const entry of group) answers.push(await attempt(entry, transaction));
      return answers;
    });
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
