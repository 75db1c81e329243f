import type { Write } from "../database/database.js";
import { ENDED } from "./record.js";

/** Ended jobs are forgotten after this time, ms. */
const KEPT = 7 * 24 * 3600 * 1000;
/** Jobs that are forgotten at a time because there are newer ones. */
const MOST_FORGOTTEN = 1_000;

/** Forgets the jobs that ended long before `now`, ms since the epoch. */
export async function forgetLongEnded(t: Write, now: number): Promise<void> {
  await t
    .deleteFrom("jobs")
    .where("state", "in", ENDED)
    // What ended before that time was made before it: the index has no time of the end.
    .where("created_at", "<", now - KEPT)
    .where("updated_at", "<", now - KEPT)
    .execute();
}

/** Leaves the newest `kept` of the jobs of one name that have ended, and those of transactions. */
export async function forgetOlder(
  t: Write,
  table: string,
  name: string,
  kept: number,
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
        .offset(kept)
        .limit(MOST_FORGOTTEN),
    )
    .execute();
}
