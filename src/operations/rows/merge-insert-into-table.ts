import { type Static, Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { tableForAttempt } from "../../api/idempotency/attempt.js";
import { operation } from "../../api/operation.js";
import { branch, count, transactionId } from "../../api/schemas.js";
import { parseDurationMillis } from "../../api/validation/duration.js";
import { tableObject } from "../../catalog/grants/grants.js";
import type { Privilege } from "../../catalog/grants/privileges.js";
import type { MergeOptions } from "../../engine/index.js";
import { invalidInput } from "../../foundation/errors.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch, versionHeader } from "../../tables/target.js";
import { findDeclared, writeFirstVersion } from "../tables/declared-table.js";

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const sql = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));

const params = Type.Object({
  branch,
  on: Type.Array(Type.String({ minLength: 1 }), {
    description:
      "path of a key field; rows with equal keys match; repeat it for several key fields",
  }),
  when_matched_update_all: flag("replace matching rows"),
  when_matched_update_all_filt: sql(
    "replace them only where this is true, such as source.a > target.a",
  ),
  when_not_matched_insert_all: flag("insert rows without a match"),
  when_not_matched_by_source_delete: flag("delete rows of the table without a match"),
  when_not_matched_by_source_delete_filt: sql("delete them only where this is true"),
  timeout: Type.Optional(
    Type.String({
      description: "how long to retry after conflicts with other writers, such as 30s or 5m",
    }),
  ),
  use_index: flag("use a scalar index on the key if there is one; default: true"),
});

export const mergeInsertIntoTable = operation({
  id: "MergeInsertIntoTable",
  methods: ["POST"],
  path: "/v1/table/{id}/merge_insert",
  summary: "Merge the rows of an Arrow IPC stream into a table in one commit",
  tag: "Table",
  params,
  body: { kind: "arrow" },
  reply: Type.Object({
    transaction_id: transactionId,
    num_updated_rows: count,
    num_inserted_rows: count,
    num_deleted_rows: count,
    num_attempts: count,
    num_rows: count,
    version: count,
  }),
  access: {
    ...accessTo("table"),
    sometimes: ["insert", "update", "delete"],
    // The counts of the reply tell which rows exist, so the filter of `select` applies, too.
    rows: ["select", "insert", "update", "delete"],
    also: ({ id, params }) => [{ object: tableObject(id), privileges: privilegesOf(params) }],
  },
  limited: ["query", "storage"],
  repeatable: true,
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, call) {
    const options = mergeOptions(call.params, call.header("x-request-timeout-ms"));
    const { id, payload } = call;
    const { branch } = call.params;
    // A declared table has no columns, so only a merge that inserts rows can write its first version.
    const mayBeFirst = branchName(branch) === undefined && options.whenNotMatchedInsertAll === true;
    const declared = mayBeFirst ? findDeclared(services, id) : undefined;
    const merged =
      declared && (await declared)
        ? await writeFirstVersion(services, call, (table) =>
            table.mergeInsert(payload, { ...options, first: true }),
          )
        : await changingTable(services, id, payload, ({ table }) =>
            onBranch(tableForAttempt(table, call), branch).mergeInsert(payload, options),
          );
    return {
      kind: "json",
      value: {
        num_updated_rows: merged.numUpdatedRows,
        num_inserted_rows: merged.numInsertedRows,
        num_deleted_rows: merged.numDeletedRows,
        num_attempts: merged.numAttempts,
        num_rows: merged.numRows,
        version: merged.version,
      },
      headers: versionHeader(merged.version),
    };
  },
});

/** The privileges that the actions of a merge need; a merge without an action needs that of the simplest one. */
function privilegesOf(request: Static<typeof params>): Privilege[] {
  const needed: Privilege[] = [];
  if (request.when_not_matched_insert_all) needed.push("insert");
  if (request.when_matched_update_all || request.when_matched_update_all_filt) {
    needed.push("update");
  }
  if (request.when_not_matched_by_source_delete || request.when_not_matched_by_source_delete_filt) {
    needed.push("delete");
  }
  return needed.length > 0 ? needed : ["insert"];
}

/** Actions with the member for their condition. */
const conditional = [
  ["when_matched_update_all", "when_matched_update_all_filt"],
  ["when_not_matched_by_source_delete", "when_not_matched_by_source_delete_filt"],
] as const;

/** @throws code 13 */
function mergeOptions(request: Static<typeof params>, timeoutHeader: string): MergeOptions {
  if (new Set(request.on).size < request.on.length) {
    throw invalidInput("`on` names a field twice: name each key field once");
  }
  for (const [flag, filter] of conditional) {
    if (request[flag] === false && request[filter] !== undefined) {
      throw invalidInput(`\`${filter}\` is set but \`${flag}\` is false: leave one of them out`);
    }
  }
  const members = {
    whenMatchedUpdateAll: request.when_matched_update_all,
    whenMatchedUpdateAllFilter: request.when_matched_update_all_filt,
    whenNotMatchedInsertAll: request.when_not_matched_insert_all,
    whenNotMatchedBySourceDelete: request.when_not_matched_by_source_delete,
    whenNotMatchedBySourceDeleteFilter: request.when_not_matched_by_source_delete_filt,
    useIndex: request.use_index,
    timeoutMs: timeoutMillis(request.timeout, timeoutHeader),
  };
  const set = Object.entries(members).filter(([, value]) => value !== undefined);
  return { on: request.on, ...Object.fromEntries(set) };
}

/** LanceDB SDKs send the timeout in a header, in whole milliseconds. */
function timeoutMillis(param: string | undefined, header: string): number | undefined {
  if (param !== undefined) return parseDurationMillis("timeout", param);
  return header === "" ? undefined : parseDurationMillis("x-request-timeout-ms", `${header}ms`);
}
