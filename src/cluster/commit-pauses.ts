/**
 * How a server asks the others to pause their commits to a table.
 *
 * Of two servers that commit to one table the faster one commits first. A change of columns takes longer than an insert,
 * and would lose every time to a server that inserts without a pause. The server that loses writes a row for the
 * branch, the others see it and pause, and the row goes when the change is made.
 */
import { sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import { available } from "../database/sql-error.js";
import type { ClusterMembers } from "./members.js";

/** A branch of a table. */
export interface Pause {
  /** The table's key. */
  readonly table: string;
  /** Empty: the main branch. */
  readonly branch: string;
}

export class CommitPauses {
  /** The rows that this server has written, by their text. */
  #asked = new Map<string, Pause>();

  constructor(
    private readonly db: CatalogDatabase,
    private readonly servers: ClusterMembers,
  ) {}

  /** Asks the other servers for these pauses, and withdraws all others. */
  async ask(pauses: readonly Pause[]): Promise<void> {
    const wanted = new Map(pauses.map((pause) => [textOf(pause), pause]));
    for (const [text, pause] of this.#asked) {
      if (wanted.has(text)) continue;
      await this.#delete(pause);
      this.#asked.delete(text);
    }
    for (const [text, pause] of wanted) {
      // Before the row is written: it may be there where writing it seems to fail.
      this.#asked.set(text, pause);
      // Each time: a row goes when this server's lease ends for a moment.
      await this.#insert(pause);
    }
  }

  /**
   * What other servers ask for and this one has to grant. Of two servers that ask for the same pause only one
   * grants it: otherwise neither would commit.
   */
  async elsewhere(): Promise<Pause[]> {
    const { self } = this.servers;
    const rows = await available(
      this.db.read
        .selectFrom("commit_pauses")
        .select(["table_key as table", "branch", "server"])
        .where("server", "<>", self)
        .where("server", "in", this.servers.alive())
        .execute(),
    );
    const granted = rows.filter((row) => row.server < self || !this.#asked.has(textOf(row)));
    const pauses = granted.map(({ table, branch }): Pause => ({ table, branch }));
    return [...new Map(pauses.map((pause) => [textOf(pause), pause])).values()];
  }

  async #insert({ table, branch }: Pause): Promise<void> {
    const { self } = this.servers;
    await this.db.write((t) =>
      t
        .insertInto("commit_pauses")
        .columns(["server", "table_key", "branch"])
        // The table may be dropped by now.
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

  async #delete({ table, branch }: Pause): Promise<void> {
    await this.db.write((t) =>
      t
        .deleteFrom("commit_pauses")
        .where("server", "=", this.servers.self)
        .where("table_key", "=", table)
        .where("branch", "=", branch)
        .execute(),
    );
  }
}

const textOf = ({ table, branch }: Pause): string => JSON.stringify([table, branch]);
