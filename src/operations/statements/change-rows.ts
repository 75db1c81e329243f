/** INSERT, DELETE, UPDATE and MERGE. */
import { deleteFromTable } from "../rows/delete-from-table.js";
import { insertIntoTable } from "../rows/insert-into-table.js";
import { mergeInsertIntoTable } from "../rows/merge-insert-into-table.js";
import { updateTable } from "../rows/update-table.js";
import type { ChangeOf } from "./change.js";
import { counted, type StatementResult } from "./statement-result.js";
import { type StatementRun, statementOperation } from "./statement-run.js";

const inserting = statementOperation(insertIntoTable);
const deleting = statementOperation(deleteFromTable);
const updating = statementOperation(updateTable);
const merging = statementOperation(mergeInsertIntoTable);

export async function insertRows(
  run: StatementRun,
  { table }: ChangeOf<"insert">,
): Promise<StatementResult> {
  const id = await run.id(table);
  return counted(await run.runWithRows(inserting, { id }, id), "num_inserted_rows");
}

export async function deleteRows(
  run: StatementRun,
  { table, predicate }: ChangeOf<"delete">,
): Promise<StatementResult> {
  const id = await run.id(table);
  return counted(await run.run(deleting, { id, payload: { predicate } }), "num_deleted_rows");
}

export async function updateRows(
  run: StatementRun,
  { table, updates, predicate }: ChangeOf<"update">,
): Promise<StatementResult> {
  const id = await run.id(table);
  const payload = { updates, ...(predicate !== undefined && { predicate }) };
  return counted(await run.run(updating, { id, payload }), "updated_rows");
}

export async function mergeRows(
  run: StatementRun,
  { table, on, update, insert, delete: removal }: ChangeOf<"merge">,
): Promise<StatementResult> {
  const id = await run.id(table);
  const params = {
    on,
    when_matched_update_all: update !== undefined,
    ...(update?.filter !== undefined && { when_matched_update_all_filt: update.filter }),
    when_not_matched_insert_all: insert,
    when_not_matched_by_source_delete: removal !== undefined,
    ...(removal?.filter !== undefined && {
      when_not_matched_by_source_delete_filt: removal.filter,
    }),
  };
  const reply = await run.runWithRows(merging, { id, params }, id);
  return counted(reply, "num_updated_rows", "num_inserted_rows", "num_deleted_rows");
}
