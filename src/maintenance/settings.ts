import type { TableRecord } from "../catalog/catalog.js";
import type { MaintenanceSettings } from "../config/config.js";
import { duration } from "../config/option.js";

/** Table properties that set a table's own maintenance. */
export const properties = {
  /** `off`: the server leaves the table alone. */
  maintenance: "joust.maintenance",
  /** How long versions are kept that nothing holds, such as 36h or 7d. */
  keepVersions: "joust.keep_versions",
} as const;

/** Whether properties say how the server treats a table: an administrator's to set. */
export const steersServer = (properties: Readonly<Record<string, string>> | undefined): boolean =>
  Object.keys(properties ?? {}).some((name) => name.startsWith("joust."));

/** A table's own settings where it has some, else the server's. A value that means nothing is none. */
export function settingsOf(
  table: Pick<TableRecord, "properties">,
  server: MaintenanceSettings,
): MaintenanceSettings {
  const { [properties.maintenance]: own, [properties.keepVersions]: kept } = table.properties;
  return {
    on: own === undefined ? server.on : own.toLowerCase() !== "off",
    keepVersionsMs: kept === undefined ? server.keepVersionsMs : read(kept, server.keepVersionsMs),
  };
}

function read(text: string, fallback: number): number {
  try {
    return duration.parse(text);
  } catch {
    return fallback;
  }
}
