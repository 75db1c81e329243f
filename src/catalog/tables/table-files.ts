import type { Engine } from "../../../native/index.js";
import type { Logger } from "../../telemetry/logger.js";
import type { TableRecord } from "../catalog.js";

const MAX_LOGGED_ENTRIES = 20;

/**
 * Removes the files of a table that is no longer in use, and no other files at its location. Logs the remaining ones.
 *
 * @param storageOptions of the root; the table's options are added to them
 */
export async function removeFiles(
  { engine, log }: { engine: Pick<Engine, "removeTable">; log: Logger },
  table: TableRecord,
  storageOptions: Readonly<Record<string, string>>,
): Promise<void> {
  const { location } = table;
  const options = { ...storageOptions, ...table.storageOptions };
  const remaining = await engine.removeTable(location, options);
  if (remaining.length === 0) return;
  const about = {
    table: table.id.join("$"),
    location,
    entries: remaining.slice(0, MAX_LOGGED_ENTRIES),
  };
  log.warn(about, "removed a table; its location still holds files that are not part of the table");
}
