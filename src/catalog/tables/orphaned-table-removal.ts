import pLimit from "p-limit";
import { LEASE_DURATION } from "../../cluster/members.js";
import { startPolling } from "../../foundation/poll-loop.js";
import type { Catalog, TableRecord } from "../catalog.js";
import { removeFiles, type TableFilesDependencies } from "./table-files.js";

/** Tables whose files are removed at the same time. */
const CONCURRENCY = 16;

export interface OrphanedTableDependencies extends TableFilesDependencies {
  catalog: TableFilesDependencies["catalog"] &
    Pick<Catalog, "claimOrphanedTables" | "forgetTable" | "orphanTable">;
  /** Of the root; a table's options are added to them. */
  storageOptions: Record<string, string>;
  /** Ends the work of this server on a table. It may last longer than the drop on another server waited for it. */
  endTableWork?: (table: TableRecord) => Promise<void>;
}

/** Claims the orphaned tables and removes their files. */
export async function removeOrphanedTables(dependencies: OrphanedTableDependencies): Promise<void> {
  const { catalog, storageOptions, log, endTableWork } = dependencies;
  await pLimit(CONCURRENCY).map(await catalog.claimOrphanedTables(), async (table) => {
    const about = { table: table.id.join("$") };
    try {
      // A write that ends after the removal would bring files back.
      await endTableWork?.(table);
      await removeFiles(dependencies, table, storageOptions);
      await catalog.forgetTable(table.key);
      log.info(about, "removed the files of an orphaned table");
    } catch (err) {
      log.warn(
        { ...about, err },
        "the files of an orphaned table could not be removed; a later removal repeats this",
      );
      await catalog.orphanTable(table.key);
    }
  });
}

/**
 * Removes orphaned tables every 30 s: a server counts as dead after that time. Returns a function that stops this.
 */
export const startOrphanedTableRemoval = (
  dependencies: OrphanedTableDependencies,
): (() => Promise<void>) =>
  startPolling(
    LEASE_DURATION,
    () => removeOrphanedTables(dependencies),
    (err) => dependencies.log.warn({ err }, "orphaned tables could not be listed"),
  );
