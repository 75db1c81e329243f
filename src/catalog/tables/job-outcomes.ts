import { sql } from "kysely";
import type { Write } from "../../database/database.js";

/**
 * Keeps in their transactions how jobs ended that are about to be forgotten: those of a table, or
 * of one name on it. What has not ended is cancelled with its table.
 */
export async function recordJobOutcomes(t: Write, table: string, name?: string): Promise<void> {
  const ofTable = t.selectFrom("jobs").select("id").where("table_key", "=", table);
  const jobs = name === undefined ? ofTable : ofTable.where("name", "=", name);
  await t
    .updateTable("transactions")
    .set({
      status: sql<"Succeeded" | "Failed" | "Canceled">`(
        select case jobs.state when 'DONE' then 'Succeeded' when 'FAILED' then 'Failed' else 'Canceled' end
        from jobs where jobs.id = transactions.id)`,
    })
    .where("id", "in", jobs)
    .execute();
}
