import type { QueryAnswer } from "../../engine/index.js";
import { invalidInput } from "../../foundation/errors.js";
import { runStatement, type SqlFormat } from "../queries/sql-statement.js";
import type { Change } from "./change.js";
import { createIndex, dropIndex } from "./change-indexes.js";
import { deleteRows, insertRows, mergeRows, updateRows } from "./change-rows.js";
import {
  addColumns,
  createSchema,
  createTableOfRows,
  dropColumns,
  dropSchema,
  dropTableOfName,
  renameColumn,
  renameTableTo,
} from "./change-tables.js";
import { encodeResult, type StatementResult } from "./statement-result.js";
import { type StatementCall, StatementRun, type StatementServices } from "./statement-run.js";
import { createView, describeView, dropView, refreshView, showViews } from "./view-statements.js";

/** The result of a statement in the requested format, and headers for the reply. */
export interface ExecutedStatement {
  readonly answer: QueryAnswer;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Runs the statement of a JSON body `{query, parameters, limit}`. A query runs in the engine. A statement that changes
 * something runs the operation that does it, for the same caller: with the same permission, the same validation and
 * the same record.
 *
 * @throws code 13 for an invalid statement, 0 for one that joust does not have, 15 if the caller may not run it, and
 * the errors of the operation
 */
export async function executeStatement(
  services: StatementServices,
  call: StatementCall,
  body: Uint8Array,
  format: SqlFormat,
): Promise<ExecutedStatement> {
  let headers: ExecutedStatement["headers"] = {};
  const answer = await runStatement(services, body, {
    format,
    fresh: call.fresh,
    namespace: call.namespace,
    onAbort: (work) => call.onAbort(work),
    async change(change, tables) {
      if (call.hasIdempotencyKey) throw notIdempotent();
      const run = new StatementRun(services, call, body, tables);
      const result = await runChange(run, JSON.parse(change) as Change);
      ({ headers } = result);
      return encodeResult(services, result, format);
    },
  });
  return { answer, headers };
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
    case "rename_column":
      return renameColumn(run, change);
    case "rename_table":
      return renameTableTo(run, change);
    case "create_index":
      return createIndex(run, change);
    case "drop_index":
      return dropIndex(run, change);
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
