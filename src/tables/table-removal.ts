import type { Catalog, TableRecord } from "../catalog/catalog.js";
import { removeFiles } from "../catalog/tables/table-files.js";
import type { DroppedTable } from "../cluster/removal-acknowledgements.js";
import type { Config } from "../config/config.js";
import { concurrently } from "../foundation/concurrently.js";
import type { Logger } from "../telemetry/logger.js";
import { type Releasing, releaseTable } from "./table-writes.js";

/** What the removal of dropped tables takes. */
export interface Removing extends Releasing {
  readonly catalog: Pick<
    Catalog,
    "orphanTable" | "dropTable" | "forgetTable" | "awaitRemovalAcknowledgements"
  >;
  readonly config: Pick<Config, "storageOptions">;
  readonly log: Logger;
}

/** Drops a table and removes its files; with a key, only the table of that key. */
export async function dropTable(services: Removing, id: readonly string[], key?: string) {
  const record = await services.catalog.dropTable(id, key);
  await removeDroppedTables(services, [record]);
  const { location, properties } = record;
  return { kind: "json" as const, value: { id: record.id, location, properties } };
}

/** Tables whose files are removed at the same time. */
const CONCURRENCY = 16;

/**
 * Removes the files of tables that the catalog has already hidden. What cannot be removed now is
 * logged and left to the clean-up of unfinished tables: for the client the tables are gone.
 */
export async function removeDroppedTables(
  services: Removing,
  records: readonly TableRecord[],
): Promise<void> {
  await concurrently(records, CONCURRENCY, (record) => removeOne(services, record));
}

/** How often tables are looked for that other servers dropped, ms. */
const INTERVAL = 250;

/** Ends this server's work on tables that others drop; gives back how to stop. */
export function watchRemovals(
  services: Releasing & {
    readonly catalog: Pick<Catalog, "removalsToAcknowledge" | "acknowledgeRemoval">;
    readonly log: Logger;
  },
): () => Promise<void> {
  const { catalog, log } = services;
  // One that is written to for long keeps nobody waiting for the others.
  const leaving = new Map<string, Promise<void>>();
  const leave = async (table: DroppedTable) => {
    try {
      await releaseTable(services, table);
      await catalog.acknowledgeRemoval(table.key);
    } catch (err) {
      log.warn({ err }, "a table that another server dropped could not be left");
    } finally {
      leaving.delete(table.key);
    }
  };
  const look = async () => {
    try {
      for (const table of await catalog.removalsToAcknowledge()) {
        if (!leaving.has(table.key)) leaving.set(table.key, leave(table));
      }
    } catch (err) {
      log.warn({ err }, "tables that other servers dropped could not be looked for");
    }
  };
  let looking: Promise<void> | undefined;
  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
  }, INTERVAL);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await looking;
    await Promise.all(leaving.values());
  };
}

async function removeOne(services: Removing, record: TableRecord): Promise<void> {
  const { catalog, config, log } = services;
  try {
    // What still writes would put files back after the removal.
    await releaseTable(services, record);
    await catalog.awaitRemovalAcknowledgements(record.key);
    await removeFiles(services, record, config.storageOptions);
    await catalog.forgetTable(record.key);
  } catch (error) {
    log.warn({ err: error, table: record.id }, "files of a dropped table remain for now");
    await catalog.orphanTable(record.key);
  }
}
