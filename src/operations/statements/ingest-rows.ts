/** Bulk ingestion: an Arrow stream becomes the rows of a table. */
import type { ArrowBody } from "../../engine/index.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { insertIntoTable } from "../rows/insert-into-table.js";
import { createTable } from "../tables/create-table.js";
import type { JsonReply, StatementRun } from "./statement-run.js";
import { statementOperation } from "./statement-run.js";

const inserting = statementOperation(insertIntoTable);
const creating = statementOperation(createTable);

/** The table of a bulk ingestion. */
export interface IngestTarget {
  readonly table: string;
  /** A namespace as in a name of SQL; absent: that of the call. */
  readonly schema?: string | undefined;
  /** Creates a table that does not exist. */
  readonly creates: boolean;
  /** What happens to a table that exists. */
  readonly existing: "fail" | "append" | "replace";
}

/**
 * Writes all rows in one version: with InsertIntoTable, or with CreateTable, which replaces a table in one version, too.
 * The caller is authorized before `rows` is called.
 *
 * @throws the errors of the operation that writes the rows
 */
export async function ingestRows(
  run: StatementRun,
  { table, schema, creates, existing }: IngestTarget,
  rows: (id: readonly string[]) => ArrowBody,
): Promise<JsonReply> {
  const id = await run.id(schema === undefined ? [table] : [schema, table]);
  const create = (mode: string) =>
    run.runWithBody(creating, { id, params: { mode } }, () => rows(id));
  const append = () => run.runWithBody(inserting, { id }, () => rows(id));
  if (existing === "fail") return create("create");
  if (existing === "append") {
    return creates && !(await exists(run, id)) ? create("create") : append();
  }
  // Fails for a table that does not exist.
  if (!creates) await run.services.catalog.table(id);
  return create("overwrite");
}

async function exists({ services }: StatementRun, id: readonly string[]): Promise<boolean> {
  try {
    await services.catalog.table(id);
    return true;
  } catch (error) {
    if (hasCode(error, ErrorCode.TableNotFound)) return false;
    // Who may insert need not be allowed to read.
    if (hasCode(error, ErrorCode.PermissionDenied)) return true;
    throw error;
  }
}
