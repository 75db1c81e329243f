import type { Engine, Table } from "../../../native/index.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import type { Logger } from "../../telemetry/logger.js";
import type { Catalog, CloneSource, TableRecord } from "../catalog.js";
import { cloneTag } from "./clones.js";

const MAX_LOGGED_ENTRIES = 20;

export interface TableFilesDependencies {
  readonly catalog: Pick<Catalog, "cloneSource" | "ownsDropped">;
  readonly engine: Pick<Engine, "removeTable"> & {
    table(location: string, storageOptions: Record<string, string>): Pick<Table, "deleteTag">;
  };
  readonly log: Logger;
}

/**
 * Removes the files of a table that is no longer in use, and no other files at its location. Logs the remaining ones.
 * Then releases the files that it read as a clone.
 *
 * @param storageOptions of the root; the table's options are added to them
 * @throws Error when another server has claimed the table
 */
export async function removeFiles(
  services: TableFilesDependencies,
  table: TableRecord,
  storageOptions: Readonly<Record<string, string>>,
): Promise<void> {
  const { engine, log } = services;
  const { location } = table;
  const options = { ...storageOptions, ...table.storageOptions };
  // Before the files: their removal needs the lease of this server. Without it, another server may have removed the table,
  // and a new clone may have its location.
  const source = await services.catalog.cloneSource(location);
  if (!(await services.catalog.ownsDropped(table.key))) {
    throw new Error("another server has taken over the removal of the table");
  }
  const remaining = await engine.removeTable(location, options);
  if (remaining.length > 0) {
    const about = {
      table: table.id.join("$"),
      location,
      entries: remaining.slice(0, MAX_LOGGED_ENTRIES),
    };
    const message =
      "removed a table; its location still holds files that are not part of the table";
    log.warn(about, message);
  }
  await removeTag(services, source, storageOptions);
}

/**
 * Removes the tag that keeps the files in the source of a shallow clone that is no longer in use.
 *
 * @param storageOptions of the root; only tables without options of their own are sources
 */
export async function releaseSource(
  services: TableFilesDependencies,
  { key, location }: TableRecord,
  storageOptions: Readonly<Record<string, string>>,
): Promise<void> {
  const source = await services.catalog.cloneSource(location);
  if (source?.tag === cloneTag(key)) await removeTag(services, source, storageOptions);
}

async function removeTag(
  { engine }: TableFilesDependencies,
  source: CloneSource | undefined,
  storageOptions: Readonly<Record<string, string>>,
): Promise<void> {
  if (source === undefined) return;
  try {
    await engine.table(source.location, { ...storageOptions }).deleteTag(source.tag);
  } catch (error) {
    // The tag was not made, or an earlier attempt removed it; or the source was deregistered, and its files were removed.
    if (hasCode(error, ErrorCode.TableTagNotFound)) return;
    if (!hasCode(error, ErrorCode.TableNotFound)) throw error;
  }
}
