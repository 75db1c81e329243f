import { Type } from "@sinclair/typebox";
import type { TableRecord } from "../catalog/catalog.js";
import type { Services } from "../services.js";
import { forgetHandle, storageOptions } from "./open-table.js";
import { stringMap, transactionId } from "./schemas.js";
import { stopWrites } from "./table-writes.js";

/** What a dropped table was. */
export const droppedTable = Type.Object({
  transaction_id: transactionId,
  id: Type.Array(Type.String()),
  location: Type.String(),
  properties: stringMap,
});

/** Drops a table and removes its files; with a key, only the table of that key. */
export async function drop(services: Services, id: readonly string[], key?: string) {
  const record = await services.catalog.dropTable(id, key);
  await removeHidden(services, [record]);
  const { location, properties } = record;
  return { kind: "json" as const, value: { id: record.id, location, properties } };
}

/** Tables whose files are removed at the same time. */
const CONCURRENCY = 16;

/**
 * Removes the files of tables that the catalog has already hidden. What cannot be removed now is
 * logged and left to the clean-up of unfinished tables: for the client the tables are gone.
 */
export async function removeHidden(
  services: Services,
  records: readonly TableRecord[],
): Promise<void> {
  for (let at = 0; at < records.length; at += CONCURRENCY) {
    const some = records.slice(at, at + CONCURRENCY);
    await Promise.all(some.map((record) => removeOne(services, record)));
  }
}

async function removeOne(services: Services, record: TableRecord): Promise<void> {
  const { catalog, engine, jobs, log } = services;
  try {
    // What still writes would put files back after the removal.
    await Promise.all([stopWrites(record.key), jobs.cancelTable(record.key)]);
    forgetHandle(services, record.key);
    await engine.removeTable(record.location, storageOptions(services, record));
    await catalog.forgetTable(record.key);
  } catch (error) {
    log.warn({ err: error, table: record.id }, "files of a dropped table remain for now");
    await catalog.abandonTable(record.key);
  }
}
