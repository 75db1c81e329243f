import { sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import type { ClusterMembers } from "./members.js";

/**
 * What one server does for all, once in `interval` ms by the database's clock. True: it is this one's turn. A
 * server that goes away while it is at it leaves the rest to the next turn.
 */
export async function takeLease(
  db: CatalogDatabase,
  servers: ClusterMembers,
  name: string,
  interval: number,
): Promise<boolean> {
  const now = servers.now();
  const turn = { owner: servers.self, done_at: now };
  const taken = await db.write((t) =>
    t
      .insertInto("duties")
      .values({ name, ...turn })
      .onConflict((c) =>
        c
          .column("name")
          .doUpdateSet(turn)
          .where((e) =>
            e.or([
              e("duties.done_at", "<=", sql<number>`${now} - ${sql.lit(interval)}`),
              // The clock was set back.
              e("duties.done_at", ">", sql<number>`${now} + ${sql.lit(interval)}`),
            ]),
          ),
      )
      .returning("name")
      .executeTakeFirst(),
  );
  return taken !== undefined;
}
