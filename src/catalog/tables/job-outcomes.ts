import { type SelectQueryBuilder, sql } from "kysely";
import type { Write } from "../../database/database.js";
import type { CatalogSchema } from "../../database/schema.js";

type JobIds = SelectQueryBuilder<CatalogSchema, "jobs", { id: string }>;

/**
 * Copies the final states of jobs into their transactions before the jobs are deleted. Jobs that have not ended count
 * as cancelled.
 */
export async function recordJobOutcomes(t: Write, jobs: JobIds): Promise<void> {
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

/** The ids of all jobs of a table, or of those of one name. */
export function jobsOfTable(t: Write, table: string, name?: string): JobIds {
  const jobs = t.selectFrom("jobs").select("id").where("table_key", "=", table);
  return name === undefined ? jobs : jobs.where("name", "=", name);
}
