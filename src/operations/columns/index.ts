import { alterTableAddColumns } from "./alter-table-add-columns.js";
import { alterTableAlterColumns } from "./alter-table-alter-columns.js";
import { alterTableBackfillColumns } from "./alter-table-backfill-columns.js";
import { alterTableDropColumns } from "./alter-table-drop-columns.js";
import { listRowErrors } from "./list-row-errors.js";
import { updateFieldMetadata } from "./update-field-metadata.js";
import { updateTableSchemaMetadata } from "./update-table-schema-metadata.js";

export const columns = [
  alterTableAddColumns,
  alterTableAlterColumns,
  alterTableDropColumns,
  alterTableBackfillColumns,
  listRowErrors,
  updateFieldMetadata,
  updateTableSchemaMetadata,
];
