/**
 * How a server asks the other members of the cluster to pause their commits to a branch.
 *
 * When two servers commit to one table, the faster one wins. A change of columns takes longer than an insert, so a
 * server that inserts without a pause would make it fail again and again:
 *
 * 1. The server whose change lost writes a row for the branch.
 * 2. The other members poll for such rows and pause their commits to the branch.
 * 3. The server deletes the row when its change is committed.
 */
import { sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import { available } from "../database/sql-error.js";
import type { ClusterMembers } from "./members.js";

/** A branch of a table. */
export interface CommitPause {
  /** The table's key. */
  readonly table: string;
  /** Empty: the main branch. */
  readonly branch: string;
}

export class CommitPauses {
  /** The rows that this server has written, by `keyOf`. */
  #requested = new Map<string, CommitPause>();

  constructor(
    private readonly db: CatalogDatabase,
    private readonly members: ClusterMembers,
  ) {}

  /** Requests these pauses from the other members and withdraws its requests for all others. */
  async request(pauses: readonly CommitPause[]): Promise<void> {
    const current = new Map(pauses.map((pause) => [keyOf(pause), pause]));
    for (const [key, pause] of this.#requested) {
      if (current.has(key)) continue;
      await this.#delete(pause);
      this.#requested.delete(key);
    }
    for (const [key, pause] of current) {
      // Before the insertion: the row may exist even when the insertion fails.
      this.#requested.set(key, pause);
      // On every call: the row is deleted when this server's lease ends for a moment.
      await this.#insert(pause);
    }
  }

  /**
   * Returns the pauses that this server has to grant. When two servers request the same pause, only one of them
   * grants it: otherwise neither would commit.
   */
  async requestedByOthers(): Promise<CommitPause[]> {
    const { self } = this.members;
    const rows = await available(
      this.db.read
        .selectFrom("commit_pauses")
        .select(["table_key as table", "branch", "server"])
        .where("server", "<>", self)
        .where("server", "in", this.members.alive())
        .execute(),
    );
    const granted = rows.filter((row) => row.server < self || !this.#requested.has(keyOf(row)));
    const pauses = granted.map(({ table, branch }): CommitPause => ({ table, branch }));
    return [...new Map(pauses.map((pause) => [keyOf(pause), pause])).values()];
  }

  async #insert({ table, branch }: CommitPause): Promise<void> {
    const { self } = this.members;
    await this.db.write((t) =>
      t
        .insertInto("commit_pauses")
        .columns(["server", "table_key", "branch"])
        // The row of the table may be deleted by now.
        .expression((e) =>
          e
            .selectFrom("tables")
            .select([sql<string>`${self}`.as("server"), "key", sql<string>`${branch}`.as("branch")])
            .where("key", "=", table),
        )
        .onConflict((c) => c.doNothing())
        .execute(),
    );
  }

  async #delete({ table, branch }: CommitPause): Promise<void> {
    await this.db.write((t) =>
      t
        .deleteFrom("commit_pauses")
        .where("server", "=", this.members.self)
        .where("table_key", "=", table)
        .where("branch", "=", branch)
        .execute(),
    );
  }
}

const keyOf = ({ table, branch }: CommitPause): string => JSON.stringify([table, branch]);
