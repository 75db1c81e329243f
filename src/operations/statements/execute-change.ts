import { invalidInput } from "../../foundation/errors.js";
import type { Change } from "./change.js";
import { grantPrivileges, revokePrivileges } from "./change-grants.js";
import { createIndex, dropIndex } from "./change-indexes.js";
import { deleteRows, insertRows, mergeRows, updateRows } from "./change-rows.js";
import {
  addColumns,
  alterColumns,
  createSchema,
  createTableOfRows,
  dropColumns,
  dropSchema,
  dropTableOfName,
  renameColumn,
  renameTableTo,
} from "./change-tables.js";
import type { StatementResult } from "./statement-result.js";
import {
  type StatementBody,
  type StatementCall,
  StatementRun,
  type StatementServices,
} from "./statement-run.js";
import { createView, describeView, dropView, refreshView, showViews } from "./view-statements.js";

/**
 * Runs a statement that changes something, or that is about materialized views: runs the operation that does it, for
 * the caller of the statement, with the same permission, the same validation and the same record as over HTTP.
 *
 * `change`: the JSON of `SqlStatement.change`.
 *
 * @throws code 15 if the caller may not run it, 13 or 0 for what the operation does not serve, and the other errors of
 * the operation
 */
export async function executeChange(
  services: StatementServices,
  call: StatementCall,
  body: StatementBody,
  change: string,
): Promise<StatementResult> {
  if (call.hasIdempotencyKey) throw notIdempotent();
  return runChange(new StatementRun(services, call, body), JSON.parse(change) as Change);
}

const notIdempotent = () =>
  invalidInput(
    "a SQL statement that changes something takes no Idempotency-Key: leave it out, or use the operation of the interface",
  );

function runChange(run: StatementRun, change: Change): Promise<StatementResult> {
  switch (change.kind) {
    case "insert":
      return insertRows(run, change);
    case "delete":
      return deleteRows(run, change);
    case "update":
      return updateRows(run, change);
    case "merge":
      return mergeRows(run, change);
    case "create_table":
      return createTableOfRows(run, change);
    case "drop_table":
      return dropTableOfName(run, change);
    case "create_schema":
      return createSchema(run, change);
    case "drop_schema":
      return dropSchema(run, change);
    case "add_columns":
      return addColumns(run, change);
    case "drop_columns":
      return dropColumns(run, change);
    case "alter_columns":
      return alterColumns(run, change);
    case "rename_column":
      return renameColumn(run, change);
    case "rename_table":
      return renameTableTo(run, change);
    case "create_index":
      return createIndex(run, change);
    case "drop_index":
      return dropIndex(run, change);
    case "grant":
      return grantPrivileges(run, change);
    case "revoke":
      return revokePrivileges(run, change);
    case "create_view":
      return createView(run, change);
    case "refresh_view":
      return refreshView(run, change);
    case "drop_view":
      return dropView(run, change);
    case "describe_view":
      return describeView(run, change);
    case "show_views":
      return showViews(run, change);
  }
}
