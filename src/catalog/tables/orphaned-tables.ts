import { sql } from "kysely";
import type { ClusterMembers } from "../../cluster/members.js";
import { membersWithoutAcknowledgement } from "../../cluster/removal-acknowledgements.js";
import type { CatalogDatabase } from "../../database/database.js";
import type { TableRecord } from "../catalog.js";
import { TABLE_COLUMNS, tableRecord } from "../records.js";
import { isSource } from "./clones.js";

/** The owner of orphaned tables: no server has this id. */
const NO_SERVER = "";

/**
 * Takes over orphaned tables: those that a server could not remove, and those that dead servers left reserved or
 * dropped. They have no namespace any more, so the `id` of their records is only the name.
 */
export async function claimOrphanedTables(
  db: CatalogDatabase,
  members: ClusterMembers,
): Promise<TableRecord[]> {
  const rows = await db.write((t) =>
    t
      .updateTable("tables")
      .set({ state: "dropped", namespace: null, owner: members.self })
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
      .execute(),
  );
  return rows.map(tableRecord);
}

/** Orphans a reserved or dropped table of `self`: frees its name, and lets any server claim its files. */
export async function orphanTable(db: CatalogDatabase, self: string, key: string): Promise<void> {
  await db.write((t) =>
    t
      .updateTable("tables")
      .set({ state: "dropped", namespace: null, owner: NO_SERVER })
      .where("key", "=", key)
      .where("state", "<>", "live")
      // Another server may have claimed it: that server removes the files.
      .where("owner", "=", self)
      .execute(),
  );
}
