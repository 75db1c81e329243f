import type { Selectable } from "kysely";
import type { NamespacesRow, TablesRow } from "../database/schema.js";
import type { NamespaceRecord, TableRecord } from "./catalog.js";
import { decodePath } from "./path.js";

export const namespaceRecord = (
  row: Pick<NamespacesRow, "path" | "properties">,
): NamespaceRecord => ({
  path: decodePath(row.path),
  properties: JSON.parse(row.properties),
});

/** The columns of a `TableRecord`. */
export const TABLE_COLUMNS = [
  "key",
  "namespace",
  "name",
  "location",
  "properties",
  "storage_options",
  "declared",
  "creator",
] as const;

export const tableRecord = (
  row: Pick<Selectable<TablesRow>, (typeof TABLE_COLUMNS)[number]>,
): TableRecord => ({
  key: row.key,
  id: [...decodePath(row.namespace ?? ""), row.name],
  location: row.location,
  properties: JSON.parse(row.properties),
  storageOptions: JSON.parse(row.storage_options),
  declared: row.declared !== 0,
  creator: row.creator,
});
