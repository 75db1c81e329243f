import type { Reply } from "../../api/operation.js";
import type { Services } from "../../api/services.js";
import type { TableRecord } from "../../catalog/catalog.js";
import { removeFiles } from "../../catalog/tables/table-files.js";
import type { Table } from "../../engine/index.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { forgetHandle, storageOptions, tableHandle } from "../../tables/open-table.js";
import { versionHeader } from "../../tables/target.js";
import { publicStorageOptions } from "./storage-options.js";

/** A table to make. */
export interface NewTable {
  readonly id: readonly string[];
  readonly properties: Record<string, string>;
  readonly storageOptions: Record<string, string>;
}

/**
 * The name is taken first, the files are written, and only then is there a table to see.
 * `write` makes the first version and gives its number.
 */
export async function createAt(
  services: Pick<Services, "catalog" | "config" | "engine" | "log">,
  wanted: NewTable,
  write: (table: Table) => Promise<number>,
): Promise<Reply> {
  const record = await services.catalog.reserveTable(wanted.id, wanted);
  return writeReserved(services, record, write);
}

/** Writes a table whose name is taken already; gives the name up when that fails. */
export async function writeReserved(
  services: Pick<Services, "catalog" | "config" | "engine" | "log">,
  record: TableRecord,
  write: (table: Table) => Promise<number>,
): Promise<Reply> {
  try {
    const version = await write(tableHandle(services, record));
    await services.catalog.publishTable(record.key);
    return createdReply(services, record, version);
  } catch (error) {
    await withdraw(services, record, error);
    throw error;
  }
}

/** Leaves neither name nor files of a table that could not be created; one that can be seen is left. */
export async function withdraw(
  services: Pick<Services, "catalog" | "config" | "engine" | "log">,
  record: TableRecord,
  cause: unknown,
): Promise<void> {
  forgetHandle(services, record.key);
  services.engine.closeTable(record.location);
  try {
    // The name goes first: files of a table that is to be seen must stay.
    if (!(await services.catalog.withdrawTable(record.key))) return;
    // What the engine found at the location is somebody else's table.
    if (!hasCode(cause, ErrorCode.TableAlreadyExists)) {
      await removeFiles(services, record, services.config.storageOptions);
    }
    await services.catalog.releaseTable(record.key);
  } catch (error) {
    services.log.warn({ err: error, table: record.id }, "files of a failed create remain for now");
    await services.catalog.orphanTable(record.key);
  }
}

/** What is told of a table that was created or replaced. */
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
