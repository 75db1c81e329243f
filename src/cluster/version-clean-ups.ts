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
import type { CatalogDatabase } from "../database/database.js";
import { available } from "../database/sql-error.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { Logger } from "../telemetry/logger.js";
import type { ClusterMembers } from "./members.js";
import { RetryQueue } from "./retry-queue.js";

/** How long a clean-up waits for the answers of other servers, ms, and how often it looks. */
const PATIENCE = 10_000;
const LOOK_EVERY = 50;

/** What another server would like to remove. */
export interface ProposedCleanUp {
  /** The table's key. */
  readonly table: string;
  readonly versions: number[];
}

export class VersionCleanUps {
  readonly #sure: RetryQueue;

  constructor(
    private readonly db: CatalogDatabase,
    private readonly servers: ClusterMembers,
    log: Logger,
  ) {
    this.#sure = new RetryQueue(log);
  }

  /**
   * Has a table's versions removed once all other servers have said which of them they need.
   *
   * @param remove given the versions that have to stay
   * @throws code 17 when a server does not answer; nothing is removed then
   */
  async agreed<T>(
    { table, versions }: ProposedCleanUp,
    signal: AbortSignal,
    remove: (kept: number[]) => Promise<T>,
  ): Promise<T> {
    if (versions.length === 0) return remove([]);
    const id = randomUUID();
    const { self } = this.servers;
    const row = { id, table_key: table, server: self, versions: JSON.stringify(versions) };
    try {
      await this.db.write((t) => t.insertInto("clean_ups").values(row).execute());
      const kept = await this.#answers(id, signal);
      signal.throwIfAborted();
      return await remove(kept);
    } finally {
      // As long as it is there, the others keep these versions from everybody. It may be where its insertion
      // seemed to fail.
      await this.#sure.write(`end clean-up ${id}`, async () => {
        await this.db.write((t) => t.deleteFrom("clean_ups").where("id", "=", id).execute());
      });
    }
  }

  /** The ids of the clean-ups of other servers that have not ended. */
  async elsewhere(): Promise<string[]> {
    const { self } = this.servers;
    const others = this.db.read.selectFrom("clean_ups").select("id").where("server", "<>", self);
    const rows = await available(others.where("server", "in", this.servers.alive()).execute());
    return rows.map(({ id }) => id);
  }

  /** What a clean-up would like to remove; `undefined` when it has ended. */
  async wanted(id: string): Promise<ProposedCleanUp | undefined> {
    const query = this.db.read.selectFrom("clean_ups").selectAll().where("id", "=", id);
    const row = await available(query.executeTakeFirst());
    return row && { table: row.table_key, versions: JSON.parse(row.versions) };
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

  /** Ends what it still tries to tell the database. */
  close(): Promise<void> {
    return this.#sure.close();
  }

  /** What others need, when all that live have said so. */
  async #answers(id: string, signal: AbortSignal): Promise<number[]> {
    for (let waited = 0; waited < PATIENCE; waited += LOOK_EVERY) {
      signal.throwIfAborted();
      if (await this.#allHaveAnswered(id)) return this.#kept(id);
      await delay(LOOK_EVERY);
    }
    throw new JoustError(
      ErrorCode.ServiceUnavailable,
      "another server did not say which versions it needs, so that none was removed",
    );
  }

  /** False also while this server counts as gone: the others do not keep to what they answered then. */
  async #allHaveAnswered(id: string): Promise<boolean> {
    const { self } = this.servers;
    const open = this.db.read
      .selectFrom("servers")
      .select("id")
      .where("id", "in", this.servers.alive())
      .where("id", "not in", (e) =>
        e.selectFrom("clean_up_answers").select("server").where("clean_up", "=", id),
      )
      .limit(2);
    const silent = await available(open.execute());
    return silent.length === 1 && silent[0]?.id === self;
  }

  async #kept(id: string): Promise<number[]> {
    const answers = this.db.read.selectFrom("clean_up_answers").select("kept");
    const rows = await available(answers.where("clean_up", "=", id).execute());
    return rows.flatMap((row) => JSON.parse(row.kept) as number[]);
  }
}
