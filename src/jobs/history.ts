import { recordJobOutcomes } from "../catalog/tables/job-outcomes.js";
import type { Write } from "../database/database.js";
import { ENDED } from "./record.js";

/** Ended jobs are deleted after this time, ms. */
const RETENTION = 7 * 24 * 3600 * 1000;
/** Older jobs that one call deletes at most. */
const MAX_DELETED = 1_000;

/** Deletes the jobs that ended more than seven days before `now`, ms since the epoch. */
export async function deleteExpiredJobs(t: Write, now: number): Promise<void> {
  const expired = t
    .selectFrom("jobs")
    .select("id")
    .where("state", "in", ENDED)
    // Redundant, but the index has only the time of creation.
    .where("created_at", "<", now - RETENTION)
    .where("updated_at", "<", now - RETENTION);
  // A transaction may be younger than its job.
  await recordJobOutcomes(t, expired);
  await t.deleteFrom("jobs").where("id", "in", expired).execute();
}

/** Deletes the ended jobs of one name, except the newest `keep` and those that a transaction refers to. */
export async function deleteOlderJobs(
  t: Write,
  table: string,
  name: string,
  keep: number,
): Promise<void> {
  await t
    .deleteFrom("jobs")
    .where("id", "in", (e) =>
      e
        .selectFrom("jobs")
        .select("id")
        .where("table_key", "=", table)
        .where("name", "=", name)
        .where("state", "in", ENDED)
        .where(({ exists, not, selectFrom }) =>
          not(
            exists(
              selectFrom("transactions").select("id").whereRef("transactions.id", "=", "jobs.id"),
            ),
          ),
        )
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .offset(keep)
        .limit(MAX_DELETED),
    )
    .execute();
}
