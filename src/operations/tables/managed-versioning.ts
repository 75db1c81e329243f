import type { TableRecord } from "../../catalog/catalog.js";

/** The property that tells clients to publish a table's versions through this server. */
const PROPERTY = "managed_versioning";

/**
 * The reply member that tells a client how to commit files that it wrote itself. The versions are Lance versions in both
 * cases, so clients of both kinds and this server can write the same table.
 */
export const managedVersioning = ({
  properties,
}: Pick<TableRecord, "properties">): { managed_versioning?: true } =>
  properties[PROPERTY]?.toLowerCase() === "true" ? { managed_versioning: true } : {};
