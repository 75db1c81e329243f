import { countTableRows } from "./count-table-rows.js";
import { deleteFromTable } from "./delete-from-table.js";
import { insertIntoTable } from "./insert-into-table.js";
import { mergeInsertIntoTable } from "./merge-insert-into-table.js";
import { readTableChanges } from "./read-table-changes.js";
import { updateTable } from "./update-table.js";

export const rows = [
  insertIntoTable,
  deleteFromTable,
  countTableRows,
  mergeInsertIntoTable,
  updateTable,
  readTableChanges,
];
