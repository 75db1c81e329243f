import { sql } from "kysely";
import type { ClusterMembers } from "../../cluster/members.js";
import { membersWithoutAcknowledgement } from "../../cluster/removal-acknowledgements.js";
import { chunks } from "../../database/chunks.js";
import type { CatalogDatabase } from "../../database/database.js";
import type { TableRecord } from "../catalog.js";
import { TABLE_COLUMNS, tableRecord } from "../records.js";
import { isSource } from "./clones.js";
import type { TableDrop } from "./table-drops.js";

/** How the names of the writes in the retry queue start that orphan tables. */
export const ORPHAN = "orphan ";

/** The owner of orphaned tables: no server has this id. */
const NO_SERVER = "";

/**
 * Takes over orphaned tables: those that a server could not remove, and those that dead servers left reserved or
 * dropped. They have no namespace any more, so the `id` of their records is only the name.
 */
export async function claimOrphanedTables(
  db: CatalogDatabase,
  members: ClusterMembers,
  drop: TableDrop,
): Promise<TableRecord[]> {
  const rows = await db.write(async (t) => {
    const claimed = await t
      .updateTable("tables")
      .set({ state: "dropped", namespace: null, owner: drop.self })
      .where("state", "<>", "live")
      .where("owner", "not in", members.alive())
      .where(({ not }) => not(isSource()))
      // Only the owner uses a reserved table: there is nothing to acknowledge.
      .where((e) =>
        e.or([
          e("state", "=", "reserved"),
          sql<boolean>`not exists ${membersWithoutAcknowledgement(members, sql.ref("tables.key"))}`,
        ]),
      )
      .returning(TABLE_COLUMNS)
      .execute();
    drop.keys = claimed.map(({ key }) => key);
    return claimed;
  });
  return rows.map(tableRecord);
}

/** Orphans reserved or dropped tables of `self`: frees their names, and lets any server claim their files. */
export async function orphanTables(
  db: CatalogDatabase,
  self: string,
  keys: readonly string[],
): Promise<void> {
  await db.write(async (t) => {
    for (const chunk of chunks(keys)) {
      await t
        .updateTable("tables")
        .set({ state: "dropped", namespace: null, owner: NO_SERVER })
        .where("key", "in", chunk)
        .where("state", "<>", "live")
        // Another server may have claimed one: that server removes the files.
        .where("owner", "=", self)
        .execute();
    }
  });
}
