/**
 * Leases: work that one member of the cluster does for all, such as the maintenance of tables that no server
 * writes to.
 *
 * 1. Every member asks for the lease of the work from time to time.
 * 2. The database grants it when the last grant is at least `interval` ms old, by the database's clock.
 * 3. The member that gets the lease does the work. All others skip it until the interval is over.
 * 4. When that member dies in the middle, the rest of the work waits for the next grant.
 */
import { sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import type { ClusterMembers } from "./members.js";

/** Returns true when this server got the lease. */
export async function takeLease(
  db: CatalogDatabase,
  members: ClusterMembers,
  name: string,
  interval: number,
): Promise<boolean> {
  const now = members.now();
  const grant = { owner: members.self, done_at: now };
  const row = await db.write((t) =>
    t
      .insertInto("leases")
      .values({ name, ...grant })
      .onConflict((c) =>
        c
          .column("name")
          .doUpdateSet(grant)
          .where((e) =>
            e.or([
              e("leases.done_at", "<=", sql<number>`${now} - ${sql.lit(interval)}`),
              // The clock was set back.
              e("leases.done_at", ">", sql<number>`${now} + ${sql.lit(interval)}`),
            ]),
          ),
      )
      .returning("name")
      .executeTakeFirst(),
  );
  return row !== undefined;
}
