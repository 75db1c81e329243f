/**
 * The cluster members: the servers that run on one catalog. Reserved and dropped tables, running jobs and locks
 * belong to a member. When the member is dead, another one takes them over.
 *
 * Postgres, where the servers run on different machines:
 * 1. `join` inserts a row with the end of the lease. The database's clock counts; all servers share it.
 * 2. A heartbeat renews the lease every 10 s.
 * 3. A member is alive until its lease ends. Its rows in other tables then count as those of a dead member.
 * 4. The next server that joins deletes the row.
 * 5. The engine removes files only until `LEASE_MARGIN` before the end: see `onLease`. Another member may have taken
 *    over the removal then, and a new table may be at the location.
 *
 * SQLite, where all servers run on one machine:
 * 1. `join` locks a file of this server. The row has no end.
 * 2. The operating system releases the lock with the process.
 * 3. Every second each server tries the locks of the others. It deletes the rows of those that it gets.
 *
 * `leave` deletes the row.
 */
import { randomUUID } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import type { Logger } from "../telemetry/logger.js";
import type { ProcessLocks } from "./process-locks.js";

/** Postgres: a server is alive for this time after it renewed its lease, ms. */
export const LEASE_DURATION = 30_000;
const HEARTBEAT_INTERVAL = 10_000;
/** A server stops to remove files this long before its lease ends, ms. */
const LEASE_MARGIN = 5_000;
/** SQLite: time between two checks of the others' locks, ms. */
const DEAD_MEMBER_INTERVAL = 1_000;
/** SQLite: a member is alive as long as it holds its lock. */
const NO_END = Number.MAX_SAFE_INTEGER;

export class ClusterMembers {
  readonly self = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  /** Postgres: the earliest end of the lease, by `performance.now()`. */
  #leaseEnd = 0;

  constructor(
    private readonly db: CatalogDatabase,
    private readonly log: Logger,
    /** SQLite only. */
    private readonly processLocks?: ProcessLocks,
    /** Postgres: receives after each renewal how long this server may remove files, ms. */
    private readonly onLease?: (remainingMillis: number) => void,
  ) {}

  /** Registers this server until `leave`. */
  async join(): Promise<void> {
    this.processLocks?.take(this.self);
    await this.#deleteDeadMembers();
    await this.#renew();
    const update = this.processLocks ? () => this.#deleteDeadMembers() : () => this.#renew();
    // Not `startPolling`: a renewal that hangs on its connection must not prevent the next one.
    this.#timer = setInterval(
      () => {
        update().catch((err) =>
          this.log.warn({ err }, "the list of cluster members could not be updated"),
        );
      },
      this.processLocks ? DEAD_MEMBER_INTERVAL : HEARTBEAT_INTERVAL,
    );
    this.#timer.unref();
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    try {
      await this.db.write((t) => t.deleteFrom("servers").where("id", "=", this.self).execute());
    } finally {
      this.processLocks?.release(this.self);
    }
  }

  /**
   * Renews the lease when less than `needed` ms of it remain.
   *
   * @throws code 17 when the database cannot be reached
   */
  async ensureLease(needed: number): Promise<void> {
    if (!this.processLocks && this.#leaseEnd - performance.now() < needed) await this.#renew();
  }

  /** SQL: the ids of the members that are alive. */
  alive(): RawBuilder<string> {
    return sql`(select id from servers where alive_until >= ${this.now()})`;
  }

  /** SQL: the database's clock, which all servers share, ms since the epoch. */
  now(): RawBuilder<number> {
    return this.db.kind === "sqlite"
      ? sql<number>`${Date.now()}`
      : sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
  }

  async #deleteDeadMembers(): Promise<void> {
    const { processLocks } = this;
    if (!processLocks) {
      await this.db.write((t) =>
        t.deleteFrom("servers").where("alive_until", "<", this.now()).execute(),
      );
      return;
    }
    const others = await this.db.read
      .selectFrom("servers")
      .select("id")
      .where("id", "<>", this.self)
      .execute();
    const dead = others.map(({ id }) => id).filter((id) => processLocks.isDead(id));
    if (dead.length === 0) return;
    await this.db.write((t) => t.deleteFrom("servers").where("id", "in", dead).execute());
  }

  async #renew(): Promise<void> {
    const until = this.processLocks
      ? sql<number>`${NO_END}`
      : sql<number>`${this.now()} + ${sql.lit(LEASE_DURATION)}`;
    const started = performance.now();
    await this.db.writeWithPriority((t) =>
      t
        .insertInto("servers")
        .values({ id: this.self, alive_until: until })
        .onConflict((c) => c.column("id").doUpdateSet({ alive_until: until }))
        .execute(),
    );
    if (this.processLocks) return;
    this.#leaseEnd = started + LEASE_DURATION;
    this.onLease?.(this.#leaseEnd - LEASE_MARGIN - performance.now());
  }
}
