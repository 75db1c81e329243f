import { randomUUID } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import type { Logger } from "../telemetry/logger.js";
import type { ProcessLocks } from "./process-locks.js";

/** How long a server that has gone silent keeps what it owns, ms. */
export const LEASE = 30_000;
const HEARTBEAT = 10_000;
/** What a server leaves of its lease when it ends work that others may take over then, ms. */
const MARGIN = 5_000;
/** SQLite: how often the others' locks are tried, ms. */
const LOOK_AFTER = 1_000;
/** SQLite: a server lives as long as it holds its lock. */
const FOREVER = Number.MAX_SAFE_INTEGER;

/**
 * The servers at work on one catalog: who owns unfinished tables and running jobs.
 *
 * On Postgres a server lives as long as it renews its lease. On SQLite all servers are on one machine,
 * where their locks tell.
 */
export class ClusterMembers {
  readonly self = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  /** Postgres: when the lease ends, by this process's clock, at the earliest. */
  #leased = 0;

  constructor(
    private readonly db: CatalogDatabase,
    private readonly log: Logger,
    /** SQLite only. */
    private readonly members?: ProcessLocks,
    /** Postgres: the others leave alone what this server is at for so long from now on, ms. */
    private readonly onLease?: (leftMs: number) => void,
  ) {}

  /** Registers this process, until `leave`. */
  async join(): Promise<void> {
    this.members?.take(this.self);
    await this.#forgetGone();
    await this.#renew();
    const work = this.members ? () => this.#forgetGone() : () => this.#renew();
    this.#timer = setInterval(
      () => {
        work().catch((err) =>
          this.log.warn({ err }, "the list of servers was not brought up to date"),
        );
      },
      this.members ? LOOK_AFTER : HEARTBEAT,
    );
    this.#timer.unref();
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    try {
      await this.db.write((t) => t.deleteFrom("servers").where("id", "=", this.self).execute());
    } finally {
      this.members?.release(this.self);
    }
  }

  /** Renews the lease where less than that is left of it, ms. Code 17 when the database cannot be reached. */
  async ensureLease(needed: number): Promise<void> {
    if (!this.members && this.#leased - performance.now() < needed) await this.#renew();
  }

  /** SQL: the ids of the servers that are alive. */
  alive(): RawBuilder<string> {
    return sql`(select id from servers where alive_until >= ${this.now()})`;
  }

  /** SQL: the ids of the other servers that are alive and may still be at work on a dropped table. */
  atWorkOn(tableKey: RawBuilder<string>): RawBuilder<string> {
    return sql`(
      select id from servers where alive_until >= ${this.now()} and id <> ${this.self}
      and id not in (select server from departures where departures.table_key = ${tableKey}))`;
  }

  async #forgetGone(): Promise<void> {
    const { members } = this;
    if (!members) {
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
    const gone = others.map(({ id }) => id).filter((id) => members.isGone(id));
    if (gone.length === 0) return;
    await this.db.write((t) => t.deleteFrom("servers").where("id", "in", gone).execute());
  }

  async #renew(): Promise<void> {
    const until = this.members
      ? sql<number>`${FOREVER}`
      : sql<number>`${this.now()} + ${sql.lit(LEASE)}`;
    const asked = performance.now();
    await this.db.write((t) =>
      t
        .insertInto("servers")
        .values({ id: this.self, alive_until: until })
        .onConflict((c) => c.column("id").doUpdateSet({ alive_until: until }))
        .execute(),
    );
    if (this.members) return;
    this.#leased = asked + LEASE;
    this.onLease?.(this.#leased - MARGIN - performance.now());
  }

  /** SQL: the database's clock, which all servers share, ms since the epoch. */
  now(): RawBuilder<number> {
    return this.db.kind === "sqlite"
      ? sql<number>`${Date.now()}`
      : sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
  }
}
