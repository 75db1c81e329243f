import { sql } from "kysely";
import type { Engine } from "../../../native/index.js";
import { type ClusterMembers, LEASE } from "../../cluster/members.js";
import type { CatalogDatabase } from "../../database/database.js";
import { concurrently } from "../../foundation/concurrently.js";
import type { Logger } from "../../telemetry/logger.js";
import type { Catalog, TableRecord } from "../catalog.js";
import { TABLE_COLUMNS, tableRecord } from "../records.js";
import { removeFiles } from "./table-files.js";

/** The owner of tables that are left to anybody. */
const NOBODY = "";
/** Tables whose files are removed at the same time. */
const CONCURRENCY = 16;

/**
 * Takes over the tables that were abandoned, and those that servers which are gone left reserved or
 * dropped. They are in no namespace any more, so that their records' `id` is only the name.
 */
export async function claimOrphanedTables(
  db: CatalogDatabase,
  servers: ClusterMembers,
): Promise<TableRecord[]> {
  const rows = await db.write((t) =>
    t
      .updateTable("tables")
      .set({ state: "dropped", namespace: null, owner: servers.self })
      .where("state", "<>", "live")
      .where("owner", "not in", servers.alive())
      // Nobody but its owner knows of a table that is only reserved.
      .where((e) =>
        e.or([
          e("state", "=", "reserved"),
          sql<boolean>`not exists ${servers.atWorkOn(sql.ref("tables.key"))}`,
        ]),
      )
      .returning(TABLE_COLUMNS)
      .execute(),
  );
  return rows.map(tableRecord);
}

/** Gives `self`'s table that is not live to whoever claims next, and its name to everybody. */
export async function orphanTable(db: CatalogDatabase, self: string, key: string): Promise<void> {
  await db.write((t) =>
    t
      .updateTable("tables")
      .set({ state: "dropped", namespace: null, owner: NOBODY })
      .where("key", "=", key)
      .where("state", "<>", "live")
      // Another server may have taken it over: the files are that one's to remove.
      .where("owner", "=", self)
      .execute(),
  );
}

export interface Removal {
  catalog: Pick<Catalog, "claimOrphanedTables" | "forgetTable" | "orphanTable">;
  engine: Pick<Engine, "removeTable">;
  /** What reaching the root needs; a table's own options come on top. */
  storageOptions: Record<string, string>;
  log: Logger;
  /** Ends what this process does with a table, which may have outlasted what another server waited for it. */
  letGo?: (table: TableRecord) => Promise<void>;
}

/** Removes the files of tables that were left half made or half removed. */
export async function removeOrphanedTables(removal: Removal): Promise<void> {
  const { catalog, storageOptions, log, letGo } = removal;
  await concurrently(await catalog.claimOrphanedTables(), CONCURRENCY, async (table) => {
    const about = { table: table.id.join("$") };
    try {
      // What still writes would put files back after the removal.
      await letGo?.(table);
      await removeFiles(removal, table, storageOptions);
      await catalog.forgetTable(table.key);
      log.info(about, "removed the remains of a table");
    } catch (err) {
      log.warn(
        { ...about, err },
        "the remains of a table could not be removed; trying again later",
      );
      await catalog.orphanTable(table.key);
    }
  });
}

/** Does so again and again; gives back how to stop. */
export function watchOrphanedTables(removal: Removal): () => Promise<void> {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= removeOrphanedTables(removal)
      .catch((err) => removal.log.warn({ err }, "remains of tables could not be looked for"))
      .finally(() => {
        running = undefined;
      });
  }, LEASE);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
