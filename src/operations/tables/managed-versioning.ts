import type { TableRecord } from "../../catalog/catalog.js";

/** The property that makes clients publish a table's versions through this server. */
const PROPERTY = "managed_versioning";

/**
 * Reply member that tells a client how to commit to a table's files itself. Versions are Lance's own
 * either way, so that clients of both kinds, and this server, can write the same table.
 */
export const managedVersioning = ({
  properties,
}: Pick<TableRecord, "properties">): { managed_versioning?: true } =>
  properties[PROPERTY]?.toLowerCase() === "true" ? { managed_versioning: true } : {};
