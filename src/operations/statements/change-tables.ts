/** CREATE, DROP and ALTER of tables and schemas. */
import type { ErrorCode } from "../../foundation/errors.js";
import { ErrorCode as Code, hasCode } from "../../foundation/errors.js";
import { identifier } from "../../tables/named-table.js";
import { alterTableAddColumns } from "../columns/alter-table-add-columns.js";
import { alterTableAlterColumns } from "../columns/alter-table-alter-columns.js";
import { alterTableDropColumns } from "../columns/alter-table-drop-columns.js";
import { createNamespace } from "../namespaces/create-namespace.js";
import { dropNamespace } from "../namespaces/drop-namespace.js";
import { createTable } from "../tables/create-table.js";
import { dropTable } from "../tables/drop-table.js";
import { renameTable } from "../tables/rename-table.js";
import type { ChangeOf } from "./change.js";
import { done, type StatementResult } from "./statement-result.js";
import { type StatementRun, statementOperation } from "./statement-run.js";

const creating = statementOperation(createTable);
const dropping = statementOperation(dropTable);
const renaming = statementOperation(renameTable);
const creatingSchema = statementOperation(createNamespace);
const droppingSchema = statementOperation(dropNamespace);
const adding = statementOperation(alterTableAddColumns);
const altering = statementOperation(alterTableAlterColumns);
const removing = statementOperation(alterTableDropColumns);

/** The result of work that may fail with one of these codes: the statement says IF EXISTS or IF NOT EXISTS. */
export async function unless(
  codes: readonly ErrorCode[],
  work: () => Promise<StatementResult>,
): Promise<StatementResult> {
  try {
    return await work();
  } catch (error) {
    if (codes.some((code) => hasCode(error, code))) return done();
    throw error;
  }
}

export const missing: readonly ErrorCode[] = [Code.TableNotFound, Code.NamespaceNotFound];

export async function createTableOfRows(
  run: StatementRun,
  { table, ifNotExists, replace }: ChangeOf<"create_table">,
): Promise<StatementResult> {
  const id = await run.id(table);
  const mode = replace ? "overwrite" : ifNotExists ? "exist_ok" : "create";
  return done(await run.runWithRows(creating, { id, params: { mode } }));
}

export async function dropTableOfName(
  run: StatementRun,
  { table, ifExists }: ChangeOf<"drop_table">,
): Promise<StatementResult> {
  const id = await run.id(table);
  return unless(ifExists ? missing : [], async () => done(await run.run(dropping, { id })));
}

export async function createSchema(
  run: StatementRun,
  { schema, ifNotExists }: ChangeOf<"create_schema">,
): Promise<StatementResult> {
  const id = identifier(schema, run.call);
  const payload = { mode: ifNotExists ? "exist_ok" : "create" };
  return done(await run.run(creatingSchema, { id, payload }));
}

export async function dropSchema(
  run: StatementRun,
  { schema, ifExists, cascade }: ChangeOf<"drop_schema">,
): Promise<StatementResult> {
  const id = identifier(schema, run.call);
  const payload = {
    mode: ifExists ? "skip" : "fail",
    behavior: cascade ? "cascade" : "restrict",
  };
  return done(await run.run(droppingSchema, { id, payload }));
}

export async function addColumns(
  run: StatementRun,
  { table }: ChangeOf<"add_columns">,
): Promise<StatementResult> {
  return done(await run.runWithRows(adding, { id: await run.id(table) }));
}

export async function dropColumns(
  run: StatementRun,
  { table, columns }: ChangeOf<"drop_columns">,
): Promise<StatementResult> {
  return done(await run.run(removing, { id: await run.id(table), payload: { columns } }));
}

export async function alterColumns(
  run: StatementRun,
  { table, alterations }: ChangeOf<"alter_columns">,
): Promise<StatementResult> {
  return done(await run.run(altering, { id: await run.id(table), payload: { alterations } }));
}

export async function renameColumn(
  run: StatementRun,
  { table, column, name }: ChangeOf<"rename_column">,
): Promise<StatementResult> {
  const payload = { alterations: [{ path: column, rename: name }] };
  return done(await run.run(altering, { id: await run.id(table), payload }));
}

export async function renameTableTo(
  run: StatementRun,
  { table, name }: ChangeOf<"rename_table">,
): Promise<StatementResult> {
  const id = await run.id(table);
  // A name of one part stays in the namespace of the table.
  const { database } = run.call;
  const target =
    name.length === 1
      ? identifier(name, { database, namespace: id.slice(0, -1) })
      : await run.id(name);
  const payload = {
    new_table_name: target.at(-1) as string,
    new_namespace_id: target.slice(0, -1),
  };
  return done(await run.run(renaming, { id, payload }));
}
