import type { Engine } from "../../../native/index.js";
import type { Logger } from "../../telemetry/logger.js";
import type { TableRecord } from "../catalog.js";

/**
 * Removes the files of a table that nobody works on any more, and nothing else that is beside them. What
 * stays is logged.
 *
 * @param storageOptions what reaching the root needs; the table's own options come on top
 */
export async function removeFiles(
  { engine, log }: { engine: Pick<Engine, "removeTable">; log: Logger },
  table: TableRecord,
  storageOptions: Readonly<Record<string, string>>,
): Promise<void> {
  const { location } = table;
  const options = { ...storageOptions, ...table.storageOptions };
  const left = await engine.removeTable(location, options);
  if (left.length === 0) return;
  const about = { table: table.id.join("$"), location, entries: left.slice(0, SHOWN) };
  log.warn(about, "a table is removed, and entries that are not the table's stay at its location");
}

/** Names of entries in one line of the log. */
const SHOWN = 20;
