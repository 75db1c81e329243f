import type { CatalogDatabase } from "./database.js";
import type { Servers } from "./servers.js";

/**
 * What one server does for all, once in `interval` ms. True: it is this one's turn. A server that goes
 * away while it is at it leaves the rest to the next turn.
 */
export async function takeDuty(
  db: CatalogDatabase,
  { self }: Servers,
  name: string,
  interval: number,
): Promise<boolean> {
  const now = Date.now();
  const taken = await db.write((t) =>
    t
      .insertInto("duties")
      .values({ name, owner: self, done_at: now })
      .onConflict((c) =>
        c
          .column("name")
          .doUpdateSet({ owner: self, done_at: now })
          .where("duties.done_at", "<=", now - interval),
      )
      .returning("name")
      .executeTakeFirst(),
  );
  return taken !== undefined;
}
