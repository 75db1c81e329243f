import pLimit from "p-limit";
import type { Catalog, TableRecord } from "../catalog/catalog.js";
import { removeFiles, type TableFilesDependencies } from "../catalog/tables/table-files.js";
import type { DroppedTable } from "../cluster/removal-acknowledgements.js";
import type { Config } from "../config/config.js";
import { startPolling } from "../foundation/poll-loop.js";
import type { Logger } from "../telemetry/logger.js";
import { endWorkBeforeRemoval, type TableWorkDependencies } from "./table-writes.js";

export interface RemovalDependencies extends TableWorkDependencies {
  readonly engine: TableFilesDependencies["engine"] & TableWorkDependencies["engine"];
  readonly catalog: TableFilesDependencies["catalog"] &
    Pick<
      Catalog,
      "orphanTable" | "dropTable" | "forgetTable" | "awaitRemovalAcknowledgements" | "hasClones"
    >;
  readonly config: Pick<Config, "storageOptions">;
  readonly log: Logger;
}

/**
 * Drops a table and removes its files. With a key, drops only the table of that key. Files that clones read stay until
 * the clones are dropped.
 */
export async function removeTable(
  services: RemovalDependencies,
  id: readonly string[],
  key?: string,
): Promise<TableRecord> {
  const record = await services.catalog.dropTable(id, key);
  await removeDroppedTables(services, [record]);
  return record;
}

/** Tables whose files are removed at the same time. */
const CONCURRENCY = 16;

/**
 * Removes the files of tables that are marked as dropped. Does not reject: a table whose files cannot be removed now
 * becomes orphaned, and a later removal of orphaned tables repeats it. For clients the table no longer exists.
 */
export async function removeDroppedTables(
  services: RemovalDependencies,
  records: readonly TableRecord[],
): Promise<void> {
  await pLimit(CONCURRENCY).map(records, (record) => removeOne(services, record));
}

/** Time between two polls for tables that other servers dropped, ms. */
const POLL_INTERVAL = 250;

/**
 * Ends this server's work on tables that other servers drop and acknowledges their removal; see
 * cluster/removal-acknowledgements.ts. Returns a function that stops this.
 */
export function startRemovalAcknowledgements(
  services: TableWorkDependencies & {
    readonly catalog: Pick<Catalog, "removalsToAcknowledge" | "acknowledgeRemoval">;
    readonly log: Logger;
  },
): () => Promise<void> {
  const { catalog, log } = services;
  // One task for each table: a long write to one must not delay the others.
  const acknowledging = new Map<string, Promise<void>>();
  const acknowledge = async (table: DroppedTable) => {
    try {
      await endWorkBeforeRemoval(services, table);
      await catalog.acknowledgeRemoval(table.key);
    } catch (err) {
      log.warn({ err }, "the work on a table that another server dropped could not be ended");
    } finally {
      acknowledging.delete(table.key);
    }
  };
  const stopPolling = startPolling(
    POLL_INTERVAL,
    async () => {
      for (const table of await catalog.removalsToAcknowledge()) {
        if (!acknowledging.has(table.key)) acknowledging.set(table.key, acknowledge(table));
      }
    },
    (err) => log.warn({ err }, "tables that other servers dropped could not be listed"),
  );
  return async () => {
    await stopPolling();
    await Promise.all(acknowledging.values());
  };
}

async function removeOne(services: RemovalDependencies, record: TableRecord): Promise<void> {
  const { catalog, config, log } = services;
  try {
    // A write that ends after the removal would bring files back.
    await endWorkBeforeRemoval(services, record);
    await catalog.awaitRemovalAcknowledgements(record.key);
    if (await catalog.hasClones(record.location)) {
      log.info(
        { table: record.id },
        "clones read files of a dropped table: the files stay until the clones are dropped",
      );
      await catalog.orphanTable(record.key);
      return;
    }
    await removeFiles(services, record, config.storageOptions);
    await catalog.forgetTable(record.key);
  } catch (error) {
    log.warn(
      { err: error, table: record.id },
      "files of a dropped table could not be removed and remain for now",
    );
    await catalog.orphanTable(record.key);
  }
}
