/**
 * How the members of the cluster agree on the old versions of a table that one of them removes.
 *
 * Each server knows only its own readers of a version, and its own requests that are about to tag a version or to
 * branch from it. So a version is removed only when no member needs it:
 *
 * 1. The server that cleans up writes a proposal: the versions that it would remove.
 * 2. Every other member polls for proposals (`proposedByOthers`, `proposal`).
 * 3. It answers with the versions that it needs (`answer`). From then on it refuses requests for the other
 *    proposed versions.
 * 4. The first server waits until all living members have answered.
 * 5. It removes the versions that no answer names. It reads tags and branches only now, after all answers.
 * 6. It deletes the proposal, and with it the answers. The other members then serve all versions again.
 *
 * When a member does not answer in time, no version is removed. The proposal of a dead server counts as ended.
 */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import { available } from "../database/sql-error.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { waitUntil } from "../foundation/wait-until.js";
import type { Logger } from "../telemetry/logger.js";
import type { ClusterMembers } from "./members.js";
import { RetryQueue } from "./retry-queue.js";

/** How long a clean-up waits for the answers of the other members, and how often it checks, ms. */
const ANSWER_TIMEOUT = 10_000;
const CHECK_INTERVAL = 50;

/** The versions that a server would remove. */
export interface CleanUpProposal {
  /** The table's key. */
  readonly table: string;
  readonly versions: number[];
}

export class VersionCleanUps {
  readonly #retryQueue: RetryQueue;

  constructor(
    private readonly db: CatalogDatabase,
    private readonly members: ClusterMembers,
    log: Logger,
  ) {
    this.#retryQueue = new RetryQueue(log);
  }

  /**
   * Proposes versions, waits for all answers and calls `remove` with the versions that have to stay.
   *
   * @throws code 17 when a member does not answer in time; `remove` is not called then
   */
  async removeAgreed<T>(
    { table, versions }: CleanUpProposal,
    signal: AbortSignal,
    remove: (needed: number[]) => Promise<T>,
  ): Promise<T> {
    if (versions.length === 0) return remove([]);
    const id = randomUUID();
    const { self } = this.members;
    const row = { id, table_key: table, server: self, versions: JSON.stringify(versions) };
    try {
      await this.db.write((t) => t.insertInto("clean_ups").values(row).execute());
      await this.#allAnswers(id, signal);
      const needed = await this.#neededVersions(id);
      signal.throwIfAborted();
      return await remove(needed);
    } finally {
      // The other members refuse these versions as long as the row exists. Also after a failed insertion: the
      // row may exist all the same.
      await this.#retryQueue.run(`end clean-up ${id}`, async () => {
        await this.db.write((t) => t.deleteFrom("clean_ups").where("id", "=", id).execute());
      });
    }
  }

  /** Returns the ids of the open proposals of other members. */
  async proposedByOthers(): Promise<string[]> {
    const { self } = this.members;
    const others = this.db.read.selectFrom("clean_ups").select("id").where("server", "<>", self);
    const rows = await available(others.where("server", "in", this.members.alive()).execute());
    return rows.map(({ id }) => id);
  }

  /** Returns undefined when the clean-up has ended. */
  async proposal(id: string): Promise<CleanUpProposal | undefined> {
    const query = this.db.read.selectFrom("clean_ups").selectAll().where("id", "=", id);
    const row = await available(query.executeTakeFirst());
    return row && { table: row.table_key, versions: JSON.parse(row.versions) };
  }

  /** Records which proposed versions this server needs. It must refuse the others until the clean-up has ended. */
  async answer(id: string, needed: readonly number[]): Promise<void> {
    const { self } = this.members;
    await this.db.write((t) =>
      t
        .insertInto("clean_up_answers")
        .columns(["clean_up", "server", "kept"])
        // The clean-up may have ended by now.
        .expression((e) =>
          e
            .selectFrom("clean_ups")
            .select(["id", sql`${self}`.as("server"), sql`${JSON.stringify(needed)}`.as("kept")])
            .where("id", "=", id),
        )
        .onConflict((c) => c.doNothing())
        .execute(),
    );
  }

  /** Stops the retries of failed writes. */
  close(): Promise<void> {
    return this.#retryQueue.close();
  }

  #allAnswers(id: string, signal: AbortSignal): Promise<void> {
    return waitUntil(() => this.#isAnsweredByAll(id), {
      interval: CHECK_INTERVAL,
      timeout: ANSWER_TIMEOUT,
      signal,
      timeoutError: () =>
        new JoustError(
          ErrorCode.ServiceUnavailable,
          "no version was removed: another server did not answer which versions it needs",
        ),
    });
  }

  /** False also while this server counts as dead: its proposal has then ended for the others. */
  async #isAnsweredByAll(id: string): Promise<boolean> {
    const { self } = this.members;
    const silent = this.db.read
      .selectFrom("servers")
      .select("id")
      .where("id", "in", this.members.alive())
      .where("id", "not in", (e) =>
        e.selectFrom("clean_up_answers").select("server").where("clean_up", "=", id),
      )
      .limit(2);
    const rows = await available(silent.execute());
    return rows.length === 1 && rows[0]?.id === self;
  }

  async #neededVersions(id: string): Promise<number[]> {
    const answers = this.db.read.selectFrom("clean_up_answers").select("kept");
    const rows = await available(answers.where("clean_up", "=", id).execute());
    return rows.flatMap((row) => JSON.parse(row.kept) as number[]);
  }
}
