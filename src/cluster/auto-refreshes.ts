/**
 * The computed columns and views that refresh themselves, and when they are checked.
 *
 * 1. The server that sees a declaration adds a row.
 * 2. Every member asks for the rows whose check is due, and postpones the check in the same statement. So one member
 *    checks a declaration, and another one takes over if that member dies.
 * 3. The member that checked it stores what it knows, and sets the time of the next check.
 */
import { type SqlBool, sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import { available } from "../database/sql-error.js";
import type { ClusterMembers } from "./members.js";

/** A column or view that refreshes itself. */
export interface AutoRefreshed {
  /** The table's key. */
  readonly table: string;
  /** Empty: the table is a view. */
  readonly column: string;
}

export interface AutoRefreshRow extends AutoRefreshed {
  /** The time between two checks, an integer of ms. */
  readonly intervalMs: number;
  /** Servers with maintenance off check it, too. */
  readonly always: boolean;
}

/** A row whose check is due. */
export interface DueAutoRefresh extends AutoRefreshed {
  /** JSON of the last check: empty before the first one. */
  readonly state: string;
}

export class AutoRefreshes {
  constructor(
    private readonly db: CatalogDatabase,
    private readonly members: ClusterMembers,
  ) {}

  /** Adds a declaration, which is due at once, or changes its interval. No effect if the table is dropped. */
  async declare(row: AutoRefreshRow): Promise<void> {
    const { intervalMs, always } = row;
    const known = await available(
      this.db.read
        .selectFrom("auto_refreshes")
        .select(["interval_ms", "always"])
        .where("table_key", "=", row.table)
        .where("column_name", "=", row.column)
        .executeTakeFirst(),
    );
    if (known && known.interval_ms === intervalMs && known.always === Number(always)) return;
    await this.#put(row, {});
  }

  /** Adds a declaration with this state, or replaces its state. Its check is due at once. */
  async put(row: AutoRefreshRow, state: string): Promise<void> {
    await this.#put(row, { state });
  }

  async #put(
    { table, column, intervalMs, always }: AutoRefreshRow,
    replaced: { readonly state?: string },
  ): Promise<void> {
    const values = { interval_ms: intervalMs, always: Number(always) };
    await this.db.write((t) =>
      t
        .insertInto("auto_refreshes")
        .columns(["table_key", "column_name", "interval_ms", "always", "check_at", "state"])
        // The row of the table may be deleted by now.
        .expression((e) =>
          e
            .selectFrom("tables")
            .select([
              "key",
              sql<string>`${column}`.as("column_name"),
              sql<number>`${sql.lit(intervalMs)}`.as("interval_ms"),
              sql<number>`${sql.lit(Number(always))}`.as("always"),
              sql<number>`0`.as("check_at"),
              sql<string>`${replaced.state ?? ""}`.as("state"),
            ])
            .where("key", "=", table),
        )
        .onConflict((c) =>
          c
            .columns(["table_key", "column_name"])
            .doUpdateSet({ ...values, ...replaced, check_at: 0 }),
        )
        .execute(),
    );
  }

  /**
   * Takes some rows whose check is due. No member gets them again for `postponeMs`.
   *
   * `all`: false for a server with maintenance off.
   */
  async takeDue(most: number, postponeMs: number, all: boolean): Promise<DueAutoRefresh[]> {
    const now = this.members.now();
    const found = this.db.read
      .selectFrom("auto_refreshes")
      .select(["table_key", "column_name"])
      .where("check_at", "<=", now)
      .$if(!all, (q) => q.where("always", "=", 1))
      .orderBy("check_at")
      .limit(most);
    const due = await available(found.execute());
    if (due.length === 0) return [];
    const taken = await this.db.write((t) =>
      t
        .updateTable("auto_refreshes")
        .set({ check_at: sql<number>`${now} + ${sql.lit(postponeMs)}` })
        .where((e) =>
          e.or(
            due.map((row) =>
              e.and([e("table_key", "=", row.table_key), e("column_name", "=", row.column_name)]),
            ),
          ),
        )
        // Another member may have taken some.
        .where("check_at", "<=", now)
        .returning(["table_key", "column_name", "state"])
        .execute(),
    );
    return taken.map((row) => ({
      table: row.table_key,
      column: row.column_name,
      state: row.state,
    }));
  }

  /** Stores the state after a check, and when the next one is due. No effect if `put` has replaced the state meanwhile. */
  async checked(checked: DueAutoRefresh, state: string, nextMs: number): Promise<void> {
    const checkAt = sql<number>`${this.members.now()} + ${sql.lit(Math.ceil(nextMs))}`;
    await this.db.write((t) =>
      t
        .updateTable("auto_refreshes")
        .set({ check_at: checkAt, state })
        .where(isUnchanged(checked))
        .execute(),
    );
  }

  /** It is not declared any more. */
  async remove(checked: DueAutoRefresh): Promise<void> {
    await this.db.write((t) =>
      t.deleteFrom("auto_refreshes").where(isUnchanged(checked)).execute(),
    );
  }
}

const isUnchanged = ({ table, column, state }: DueAutoRefresh) =>
  sql<SqlBool>`table_key = ${table} and column_name = ${column} and state = ${state}`;
