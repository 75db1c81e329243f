/**
 * The lock that a server takes before it changes a table's tags or branches.
 *
 * Lance stores tags and branches in small files without a commit protocol: a change reads a file, decides and
 * writes it back. Concurrent changes of two servers would overwrite each other. So only the holder of the table's
 * row in `reference_locks` changes them:
 *
 * 1. The first request of a server inserts the row. It succeeds when there is none, or when its owner is dead.
 * 2. While another server holds the lock, the request tries again after a short random pause.
 * 3. Requests of one server share the row for `SHARED_TERM`. The engine runs their changes one after the other.
 * 4. Later requests wait until the row is deleted and `TERM_GAP` has passed, so that another server gets the lock.
 * 5. The last request deletes the row. The token prevents that a repeated deletion removes a later row.
 *
 * Limits: a server that is suspended in the middle of a change for longer than its lease may finish the change
 * after another server took the lock. Tools that write tags without joust take no lock.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import { available } from "../database/sql-error.js";
import { tableDropped } from "../database/table-dropped.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { waitUntil } from "../foundation/wait-until.js";
import { type ClusterMembers, LEASE_DURATION } from "./members.js";
import type { RetryQueue } from "./retry-queue.js";

/** How long a request waits for another server's lock, ms: longer than a dead server's lease. */
const LOCK_TIMEOUT = LEASE_DURATION + 10_000;
/** Time between two tries, ms: this and a random part of the second. */
const MIN_RETRY_PAUSE = 5;
const RANDOM_RETRY_PAUSE = 10;
/** How long further requests of this server may share a lock, and how long the server then leaves it free, ms. */
const SHARED_TERM = 200;
const TERM_GAP = 40;
/** Least remaining time of this server's lease when a change begins, ms. */
const LEASE_NEEDED = 10_000;

/** A lock that this server holds or waits for. */
interface ServerLock {
  /** Distinguishes the row from later ones of this server. */
  readonly token: string;
  readonly acquired: Promise<void>;
  readonly released: Promise<void>;
  readonly resolveReleased: () => void;
  /** Requests that use the lock or wait for it. */
  users: number;
  /** Requests after this time wait for the next lock; by `performance.now()`. */
  sharedUntil: number;
}

export class ReferenceLocks {
  readonly #locks = new Map<string, ServerLock>();

  constructor(
    private readonly db: CatalogDatabase,
    private readonly members: ClusterMembers,
    private readonly retryQueue: RetryQueue,
  ) {}

  /**
   * Resolves when this server holds the table's lock. The caller must call `unlock` then.
   *
   * @throws code 14 when the table is dropped, 17 when another server holds the lock too long
   */
  async lock(key: string): Promise<void> {
    for (;;) {
      const lock = this.#locks.get(key) ?? this.#begin(key);
      if (performance.now() >= lock.sharedUntil) {
        await lock.released;
        await delay(TERM_GAP);
        continue;
      }
      lock.users++;
      try {
        return await lock.acquired;
      } catch (error) {
        this.#leave(key, lock);
        throw error;
      }
    }
  }

  /** To be called once for each `lock` that resolved. */
  unlock(key: string): void {
    const lock = this.#locks.get(key);
    if (lock) this.#leave(key, lock);
  }

  #begin(key: string): ServerLock {
    const token = randomUUID();
    const { promise: released, resolve: resolveReleased } = withResolver();
    const acquired = this.#acquire(key, token).then(() => {
      lock.sharedUntil = performance.now() + SHARED_TERM;
    });
    const lock: ServerLock = {
      token,
      acquired,
      released,
      resolveReleased,
      users: 0,
      sharedUntil: Number.POSITIVE_INFINITY,
    };
    this.#locks.set(key, lock);
    return lock;
  }

  #leave(key: string, lock: ServerLock): void {
    lock.users--;
    if (lock.users > 0) return;
    lock.sharedUntil = 0;
    // Also when the insertion failed: the row may exist all the same.
    void this.retryQueue
      .run(`unlock the tags and branches of ${key}: ${lock.token}`, async () => {
        await this.db.write((t) =>
          t.deleteFrom("reference_locks").where("token", "=", lock.token).execute(),
        );
      })
      .finally(() => {
        this.#locks.delete(key);
        lock.resolveReleased();
      });
  }

  #acquire(key: string, token: string): Promise<void> {
    const tryAcquire = async () => {
      await this.members.ensureLease(LEASE_NEEDED);
      return !(await this.#isHeldByOther(key)) && (await this.#insert(key, token));
    };
    return waitUntil(tryAcquire, {
      interval: () => MIN_RETRY_PAUSE + Math.random() * RANDOM_RETRY_PAUSE,
      timeout: LOCK_TIMEOUT,
      timeoutError: () =>
        new JoustError(
          ErrorCode.ServiceUnavailable,
          "another server is still changing the tags or branches of the table: try again",
        ),
    });
  }

  /** @throws code 14 when the table is dropped */
  async #isHeldByOther(key: string): Promise<boolean> {
    const { self } = this.members;
    const row = await available(
      this.db.read
        .selectFrom("tables")
        .leftJoin("reference_locks", "reference_locks.table_key", "tables.key")
        .select((e) =>
          e
            .and([
              e("reference_locks.owner", "<>", self),
              e("reference_locks.owner", "in", this.members.alive()),
            ])
            .as("held"),
        )
        .where("tables.key", "=", key)
        .where("tables.state", "=", "live")
        .executeTakeFirst(),
    );
    if (!row) throw tableDropped();
    return Boolean(row.held);
  }

  async #insert(key: string, token: string): Promise<boolean> {
    const { self } = this.members;
    const inserted = await this.db.write((t) =>
      t
        .insertInto("reference_locks")
        .columns(["table_key", "owner", "token"])
        .expression((e) =>
          e
            .selectFrom("tables")
            .select(["key", sql<string>`${self}`.as("owner"), sql<string>`${token}`.as("token")])
            .where("key", "=", key)
            .where("state", "=", "live"),
        )
        .onConflict((c) =>
          c
            .column("table_key")
            .doUpdateSet({ owner: self, token })
            // A row of this server is one that could not be deleted.
            .where((e) =>
              e.or([
                e("reference_locks.owner", "=", self),
                e("reference_locks.owner", "not in", this.members.alive()),
              ]),
            ),
        )
        .returning("token")
        .executeTakeFirst(),
    );
    return inserted !== undefined;
  }
}

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
