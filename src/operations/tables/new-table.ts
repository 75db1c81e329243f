import type { Reply } from "../../api/operation.js";
import type { Services } from "../../api/services.js";
import type { TableRecord } from "../../catalog/catalog.js";
import { releaseSource, removeFiles } from "../../catalog/tables/table-files.js";
import type { Table } from "../../engine/index.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { forgetHandle, storageOptions, tableHandle } from "../../tables/open-table.js";
import { versionHeader } from "../../tables/target.js";
import { publicStorageOptions } from "./storage-options.js";

/** A table to create. */
export interface NewTable {
  readonly id: readonly string[];
  readonly properties: Record<string, string>;
  readonly storageOptions: Record<string, string>;
  /** The id of the caller. */
  readonly creator: string;
  /** The table is a shallow clone of this one. */
  readonly source?: TableRecord;
}

/**
 * Creates a table in three steps: reserves the name, writes the files, activates the table. `write` writes the first
 * version and returns its number.
 */
export async function reserveAndWrite(
  services: Pick<Services, "catalog" | "config" | "engine" | "log">,
  newTable: NewTable,
  write: (table: Table, record: TableRecord) => Promise<number>,
): Promise<Reply> {
  const record = await services.catalog.reserveTable(newTable.id, newTable);
  return writeReserved(services, record, write);
}

/** Writes and activates a table whose name is reserved. Releases the name after a failure. */
export async function writeReserved(
  services: Pick<Services, "catalog" | "config" | "engine" | "log">,
  record: TableRecord,
  write: (table: Table, record: TableRecord) => Promise<number>,
): Promise<Reply> {
  try {
    const version = await write(tableHandle(services, record), record);
    await services.catalog.activateTable(record.key);
    return createdReply(services, record, version);
  } catch (error) {
    await discardTable(services, record, error);
    throw error;
  }
}

/** Removes the name and the files of a table whose creation failed, unless the table is active. */
export async function discardTable(
  services: Pick<Services, "catalog" | "config" | "engine" | "log">,
  record: TableRecord,
  cause: unknown,
): Promise<void> {
  forgetHandle(services, record.key);
  services.engine.closeTable(record.location);
  try {
    // The name first: the files of an active table must remain.
    if (!(await services.catalog.withdrawTable(record.key))) return;
    // After TableAlreadyExists the files at the location belong to another table.
    const remove = hasCode(cause, ErrorCode.TableAlreadyExists) ? releaseSource : removeFiles;
    await remove(services, record, services.config.storageOptions);
    await services.catalog.releaseTable(record.key);
  } catch (error) {
    services.log.warn({ err: error, table: record.id }, "files of a failed create remain for now");
    await services.catalog.orphanTable(record.key);
  }
}

/** The reply after a table was created or replaced. */
export function createdReply(
  services: Pick<Services, "config">,
  record: TableRecord,
  version: number,
): Reply {
  const options = publicStorageOptions(storageOptions(services, record));
  return {
    kind: "json",
    value: {
      location: record.location,
      version,
      ...(options && { storage_options: options }),
      properties: record.properties,
    },
    headers: versionHeader(version),
  };
}
