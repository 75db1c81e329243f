import { sql } from "kysely";
import type { Write } from "../../database/database.js";

/**
 * Copies the final states of jobs into their transactions before the jobs are deleted: all jobs of a table, or those
 * of one name. Jobs that have not ended count as cancelled.
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
