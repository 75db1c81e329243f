import { timeoutOf } from "../../api/time-left.js";
import type { SqlColumn, SqlDescription, SqlOptions, SqlTable } from "../../engine/index.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { type Change, changesRows } from "../statements/change.js";
import { executeChange } from "../statements/execute-change.js";
import { idOf } from "../statements/object-id.js";
import { resultColumns, type StatementResult } from "../statements/statement-result.js";
import { sqlTarget } from "../statements/statement-rows.js";
import type { StatementCall, StatementServices } from "../statements/statement-run.js";
import { type QueryRun, runQuery } from "./sql-statement.js";

/** A statement of a client, and the part of its call that it needs. */
export interface Statement extends StatementCall {
  /** JSON `{query, parameters, limit}`. The engine decodes it. */
  readonly body: Uint8Array;
  /** A statement that is no query begins: its result will have these columns, here without values. */
  onChange?(columns: SqlColumn[]): void;
}

/** What a statement did: a query has rows, another statement a result. */
export type Executed<Rows> =
  | { readonly kind: "rows"; readonly rows: Rows }
  | { readonly kind: "result"; readonly result: StatementResult };

/**
 * Runs any statement over the catalog. `query` starts the engine's work for a query.
 *
 * @throws code 13 for an invalid statement, 0 for one that joust does not have, 1 or 4 for a table that does not exist,
 * and the errors of the operation that changes something
 */
export async function executeStatement<Rows>(
  services: StatementServices,
  statement: Statement,
  query: (options: SqlOptions) => Promise<Rows>,
): Promise<Executed<Rows>> {
  const { body } = statement;
  const { tables, change } = await services.engine.sqlStatement(body);
  if (change === undefined) {
    return { kind: "rows", rows: await runQuery(services, tables, runOf(statement), query) };
  }
  statement.onChange?.(resultColumns(JSON.parse(change) as Change, statement.respondAsync));
  const result = await executeChange(services, statement, { body, tables }, change);
  return { kind: "result", result };
}

/** What a statement will return. Nothing runs. */
export type Described =
  | { readonly kind: "planned"; readonly description: SqlDescription }
  /** Its result has columns of texts, or none that are known. */
  | { readonly kind: "change"; readonly columns: string[]; readonly parameters: number };

/** Plans a statement and does not run it. Throws as `executeStatement` does. */
export async function describeStatement(
  services: StatementServices,
  statement: Statement,
): Promise<Described> {
  const { body } = statement;
  const { tables, change, parameters } = await services.engine.sqlStatement(body, true);
  if (change !== undefined) {
    const changed = JSON.parse(change) as Change;
    const description =
      parameters === 0 ? undefined : await describeChange(services, statement, tables, changed);
    if (description !== undefined) return { kind: "planned", description };
    const columns = resultColumns(changed, false).filter((column) => column.texts);
    return { kind: "change", columns: columns.map(({ name }) => name), parameters };
  }
  const description = await runQuery(services, tables, runOf(statement), (options) =>
    services.engine.describeSql(body, options),
  );
  return { kind: "planned", description };
}

/**
 * The types of the parameters of a statement that changes rows: from the columns of the tables, which the caller must be
 * allowed to read. Undefined: no types are known. The failure of a statement that cannot run is that of its execution.
 */
async function describeChange(
  services: StatementServices,
  statement: Statement,
  tables: readonly SqlTable[],
  change: Change,
): Promise<SqlDescription | undefined> {
  if (!changesRows(change)) return undefined;
  try {
    const id = await idOf(services, change.table, statement);
    const target = await sqlTarget(services, id);
    return await runQuery(services, tables, runOf(statement), (options) =>
      services.engine.describeSqlChange(statement.body, options, target),
    );
  } catch (error) {
    if (notDescribed.some((code) => hasCode(error, code))) return undefined;
    throw error;
  }
}

/** Tables that do not exist for the caller, or that it may not read. */
const notDescribed = [
  ErrorCode.NamespaceNotFound,
  ErrorCode.TableNotFound,
  ErrorCode.PermissionDenied,
];

const runOf = (statement: Statement): QueryRun => ({
  fresh: statement.fresh,
  database: statement.database,
  namespace: statement.namespace,
  timeout: timeoutOf(statement),
  onAbort: (work) => statement.onAbort(work),
  reads: (id) => statement.reads?.(id),
});
