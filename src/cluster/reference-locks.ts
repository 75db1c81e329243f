/**
 * Which server changes a table's tags and branches.
 *
 * Lance keeps tags and branches in small files that no commit protects: a change reads one, decides, and
 * writes it. Changes of two servers at the same time would undo one another. So a server takes a row of the
 * catalog for a table before it changes them. Requests of one server share the row, for a short term at most;
 * the engine does their changes one after the other. The row of a server that is gone is free.
 *
 * A server that is stopped in the middle of a change for longer than its lease may end the change after
 * another server has taken the lock. Tools that write tags past joust take no lock at all.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import { available } from "../database/sql-error.js";
import { tableGone } from "../database/table-gone.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { type ClusterMembers, LEASE } from "./members.js";
import type { RetryQueue } from "./retry-queue.js";

/** How long a change waits for another server's, ms: longer than the lease of one that is gone. */
const PATIENCE = LEASE + 10_000;
/** How often it looks, ms: at least, and at random as much more. */
const LOOK_EVERY = 5;
const LOOK_MORE = 10;
/** How long requests of one server may join those that have the lock, ms, and how long they leave it then. */
const TERM = 200;
const PAUSE = 40;
/** What a change wants to be left of the server's lease, ms. */
const LEASE_NEEDED = 10_000;

interface Held {
  /** Tells this server's row from a later one. */
  readonly token: string;
  readonly taken: Promise<void>;
  readonly released: Promise<void>;
  readonly release: () => void;
  /** Requests that have it or wait for it. */
  users: number;
  /** Who comes later waits for the next term. */
  until: number;
}

export class ReferenceLocks {
  readonly #held = new Map<string, Held>();

  constructor(
    private readonly db: CatalogDatabase,
    private readonly servers: ClusterMembers,
    private readonly sure: RetryQueue,
  ) {}

  /** Resolves when this server has a table's lock; `unlock` has to follow. @throws code 14, 17 */
  async lock(key: string): Promise<void> {
    for (;;) {
      const held = this.#held.get(key) ?? this.#hold(key);
      if (performance.now() >= held.until) {
        await held.released;
        await delay(PAUSE);
        continue;
      }
      held.users++;
      try {
        return await held.taken;
      } catch (error) {
        this.#leave(key, held);
        throw error;
      }
    }
  }

  /** Once for each `lock`. */
  unlock(key: string): void {
    const held = this.#held.get(key);
    if (held) this.#leave(key, held);
  }

  #hold(key: string): Held {
    const token = randomUUID();
    const { promise: released, resolve: release } = withResolver();
    const taken = this.#take(key, token).then(() => {
      held.until = performance.now() + TERM;
    });
    const held: Held = {
      token,
      taken,
      released,
      release,
      users: 0,
      until: Number.POSITIVE_INFINITY,
    };
    this.#held.set(key, held);
    return held;
  }

  #leave(key: string, held: Held): void {
    held.users--;
    if (held.users > 0) return;
    held.until = 0;
    // Also where taking it seemed to fail: the row may be there.
    void this.sure
      .write(`unlock the tags and branches of ${key}: ${held.token}`, async () => {
        await this.db.write((t) =>
          t.deleteFrom("reference_locks").where("token", "=", held.token).execute(),
        );
      })
      .finally(() => {
        this.#held.delete(key);
        held.release();
      });
  }

  async #take(key: string, token: string): Promise<void> {
    for (const end = performance.now() + PATIENCE; performance.now() < end; ) {
      await this.servers.ensureLease(LEASE_NEEDED);
      if (!(await this.#isTaken(key)) && (await this.#insert(key, token))) return;
      await delay(LOOK_EVERY + Math.random() * LOOK_MORE);
    }
    throw new JoustError(
      ErrorCode.ServiceUnavailable,
      "another server is still changing the tags or branches of the table: try again",
    );
  }

  /** @throws code 14 when the table is dropped */
  async #isTaken(key: string): Promise<boolean> {
    const { self } = this.servers;
    const row = await available(
      this.db.read
        .selectFrom("tables")
        .leftJoin("reference_locks", "reference_locks.table_key", "tables.key")
        .select((e) =>
          e
            .and([
              e("reference_locks.owner", "<>", self),
              e("reference_locks.owner", "in", this.servers.alive()),
            ])
            .as("taken"),
        )
        .where("tables.key", "=", key)
        .where("tables.state", "=", "live")
        .executeTakeFirst(),
    );
    if (!row) throw tableGone();
    return Boolean(row.taken);
  }

  async #insert(key: string, token: string): Promise<boolean> {
    const { self } = this.servers;
    const taken = await this.db.write((t) =>
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
            // An own row is one that could not be deleted.
            .where((e) =>
              e.or([
                e("reference_locks.owner", "=", self),
                e("reference_locks.owner", "not in", this.servers.alive()),
              ]),
            ),
        )
        .returning("token")
        .executeTakeFirst(),
    );
    return taken !== undefined;
  }
}

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
