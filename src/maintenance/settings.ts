import type { TableRecord } from "../catalog/catalog.js";
import type { MaintenanceSettings } from "../config/config.js";
import { duration } from "../config/option.js";

/** Table properties that override the server's maintenance settings. */
export const properties = {
  /** `off`: the server does not maintain the table. */
  maintenance: "joust.maintenance",
  /** How long unused versions stay, for example 36h or 7d. */
  keepVersions: "joust.keep_versions",
} as const;

/** Whether some properties change what the server does with a table. Only an administrator may set those. */
export const hasServerProperties = (
  properties: Readonly<Record<string, string>> | undefined,
): boolean => Object.keys(properties ?? {}).some((name) => name.startsWith("joust."));

/** The settings of a table: its properties where they are valid, else the server's settings. */
export function settingsOf(
  table: Pick<TableRecord, "properties">,
  server: MaintenanceSettings,
): MaintenanceSettings {
  const { [properties.maintenance]: maintenance, [properties.keepVersions]: keepVersions } =
    table.properties;
  return {
    ...server,
    on: maintenance === undefined ? server.on : maintenance.toLowerCase() !== "off",
    keepVersionsMs:
      keepVersions === undefined
        ? server.keepVersionsMs
        : parseDuration(keepVersions, server.keepVersionsMs),
  };
}

/** Whether a table turns maintenance on, also for servers with maintenance off. */
export const turnsOn = (table: Pick<TableRecord, "properties">): boolean => {
  const maintenance = table.properties[properties.maintenance];
  return maintenance !== undefined && maintenance.toLowerCase() !== "off";
};

function parseDuration(text: string, fallback: number): number {
  try {
    return duration.parse(text);
  } catch {
    return fallback;
  }
}
