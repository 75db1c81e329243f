import { randomUUID } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { Logger } from "../telemetry/logger.js";
import type { CatalogDatabase } from "./database.js";

/** How long a server that has gone silent keeps what it owns, ms. */
export const LEASE = 30_000;
const HEARTBEAT = 10_000;
/** SQLite: there is one server, and its lock ends with it. */
const FOREVER = Number.MAX_SAFE_INTEGER;

/** The servers at work on one catalog: who owns unfinished tables and running jobs. */
export class Servers {
  readonly self = randomUUID();
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(
    private readonly db: CatalogDatabase,
    private readonly log: Logger,
  ) {}

  /** Registers this process; its lease is renewed until `leave`. */
  async join(): Promise<void> {
    await this.db.write(async (t) => {
      if (this.db.kind === "sqlite") await t.deleteFrom("servers").execute();
      else await t.deleteFrom("servers").where("alive_until", "<", this.#now()).execute();
    });
    await this.#renew();
    if (this.db.kind === "sqlite") return;
    this.#heartbeat = setInterval(() => {
      this.#renew().catch((err) => this.log.warn({ err }, "the server's lease was not renewed"));
    }, HEARTBEAT);
    this.#heartbeat.unref();
  }

  async leave(): Promise<void> {
    clearInterval(this.#heartbeat);
    await this.db.write((t) => t.deleteFrom("servers").where("id", "=", this.self).execute());
  }

  /** SQL: the ids of the servers that are alive. */
  alive(): RawBuilder<string> {
    return sql`(select id from servers where alive_until >= ${this.#now()})`;
  }

  async #renew(): Promise<void> {
    const until =
      this.db.kind === "sqlite"
        ? sql<number>`${FOREVER}`
        : sql<number>`${this.#now()} + ${sql.lit(LEASE)}`;
    await this.db.write((t) =>
      t
        .insertInto("servers")
        .values({ id: this.self, alive_until: until })
        .onConflict((c) => c.column("id").doUpdateSet({ alive_until: until }))
        .execute(),
    );
  }

  /** The database's clock, which all servers share. */
  #now(): RawBuilder<number> {
    return this.db.kind === "sqlite"
      ? sql<number>`${Date.now()}`
      : sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
  }
}
