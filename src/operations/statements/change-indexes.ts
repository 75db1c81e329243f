/** CREATE INDEX and DROP INDEX. */
import { ErrorCode, invalidInput } from "../../foundation/errors.js";
import { createTableIndex } from "../indexes/create-table-index.js";
import { dropTableIndex } from "../indexes/drop-table-index.js";
import { indexRequest } from "../indexes/index-request.js";
import type { ChangeOf } from "./change.js";
import { missing, unless } from "./change-tables.js";
import { afterJob, done, type StatementResult } from "./statement-result.js";
import { type StatementRun, statementOperation } from "./statement-run.js";

const creating = statementOperation(createTableIndex);
const dropping = statementOperation(dropTableIndex);

/** Members of the request that the statement has in other clauses. */
const clauses = ["column", "index_type", "name", "branch"];
const optionNames = Object.keys(indexRequest.properties).filter((name) => !clauses.includes(name));

export async function createIndex(
  run: StatementRun,
  { table, name, column, indexType, ifNotExists, options }: ChangeOf<"create_index">,
): Promise<StatementResult> {
  const unknown = Object.keys(options).find((option) => !optionNames.includes(option));
  if (unknown !== undefined) {
    throw invalidInput(
      `WITH has the option ${JSON.stringify(unknown.slice(0, 80))}: the options of an index are ${optionNames.join(", ")}`,
    );
  }
  const id = await run.id(table);
  const payload = {
    column,
    index_type: indexType,
    ...(name !== undefined && { name }),
    ...options,
  };
  return unless(ifNotExists ? [ErrorCode.TableIndexAlreadyExists] : [], async () => {
    const reply = await run.run(creating, { id, payload });
    return afterJob(run, reply, reply.value.transaction_id as string);
  });
}

export async function dropIndex(
  run: StatementRun,
  { table, name, ifExists }: ChangeOf<"drop_index">,
): Promise<StatementResult> {
  const id = await run.id(table);
  const codes = ifExists ? [ErrorCode.TableIndexNotFound, ...missing] : [];
  return unless(codes, async () =>
    done(await run.run(dropping, { id, path: { index_name: name } })),
  );
}
