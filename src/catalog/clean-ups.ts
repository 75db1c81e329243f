/**
 * How servers agree on which old versions of a table one of them removes.
 *
 * Each server knows only for itself who reads a version, or is about to give it a tag or a branch. So one
 * that cleans up says first which versions it would like to remove. Every other one answers which of them it
 * needs, and lets nobody have the rest until the clean-up has ended. What is named by then is looked at after
 * all have answered.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { ErrorCode, JoustError } from "../errors.js";
import type { CatalogDatabase } from "./database.js";
import type { Servers } from "./servers.js";
import { available } from "./sql-error.js";

/** How long a clean-up waits for the answers of other servers, ms, and how often it looks. */
const PATIENCE = 10_000;
const LOOK_EVERY = 50;

/** Another server's clean-up. */
export interface CleanUpElsewhere {
  readonly id: string;
  /** The table's key. */
  readonly table: string;
  readonly versions: number[];
}

export class CleanUps {
  constructor(
    private readonly db: CatalogDatabase,
    private readonly servers: Servers,
  ) {}

  /**
   * Has a table's versions removed once all other servers have said which of them they need.
   *
   * @param remove given the versions that have to stay
   * @throws code 17 when a server does not answer; nothing is removed then
   */
  async agreed<T>(
    table: string,
    versions: readonly number[],
    signal: AbortSignal,
    remove: (kept: number[]) => Promise<T>,
  ): Promise<T> {
    if (versions.length === 0) return remove([]);
    const id = randomUUID();
    const { self } = this.servers;
    const row = { id, table_key: table, server: self, versions: JSON.stringify(versions) };
    await this.db.write((t) => t.insertInto("clean_ups").values(row).execute());
    try {
      return await remove(await this.#answers(id, signal));
    } finally {
      await this.db.write((t) => t.deleteFrom("clean_ups").where("id", "=", id).execute());
    }
  }

  /** The clean-ups of other servers that have not ended. */
  async elsewhere(): Promise<CleanUpElsewhere[]> {
    const rows = await available(
      this.db.read
        .selectFrom("clean_ups")
        .select(["id", "table_key", "versions"])
        .where("server", "<>", this.servers.self)
        .where("server", "in", this.servers.alive())
        .execute(),
    );
    return rows.map((row) => ({
      id: row.id,
      table: row.table_key,
      versions: JSON.parse(row.versions),
    }));
  }

  /** This server needs these versions, and lets nobody have the others before the clean-up has ended. */
  async answer(id: string, kept: readonly number[]): Promise<void> {
    const { self } = this.servers;
    await this.db.write((t) =>
      t
        .insertInto("clean_up_answers")
        .columns(["clean_up", "server", "kept"])
        // It may have ended by now.
        .expression((e) =>
          e
            .selectFrom("clean_ups")
            .select(["id", sql`${self}`.as("server"), sql`${JSON.stringify(kept)}`.as("kept")])
            .where("id", "=", id),
        )
        .onConflict((c) => c.doNothing())
        .execute(),
    );
  }

  /** What others need, when all that live have said so. */
  async #answers(id: string, signal: AbortSignal): Promise<number[]> {
    for (let waited = 0; waited < PATIENCE; waited += LOOK_EVERY) {
      signal.throwIfAborted();
      const silent = this.db.read
        .selectFrom("servers")
        .select("id")
        .where("id", "<>", this.servers.self)
        .where("id", "in", this.servers.alive())
        .where("id", "not in", (e) =>
          e.selectFrom("clean_up_answers").select("server").where("clean_up", "=", id),
        )
        .limit(1);
      if ((await available(silent.executeTakeFirst())) === undefined) return this.#kept(id);
      await delay(LOOK_EVERY);
    }
    throw new JoustError(
      ErrorCode.ServiceUnavailable,
      "another server did not say which versions it needs, so that none was removed",
    );
  }

  async #kept(id: string): Promise<number[]> {
    const answers = this.db.read.selectFrom("clean_up_answers").select("kept");
    const rows = await available(answers.where("clean_up", "=", id).execute());
    return rows.flatMap((row) => JSON.parse(row.kept) as number[]);
  }
}
