import { Type } from "@sinclair/typebox";
import { forAttempt } from "../../api/idempotency/attempt.js";
import { operation, type Reply } from "../../api/operation.js";
import { branch, count, nothing, predicate, transactionId, version } from "../../api/schemas.js";
import { choice } from "../../api/validation/choice.js";
import { invalidInput } from "../../foundation/errors.js";
import { onTableAtHand } from "../../tables/open-table.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch, readOptions, versionHeader } from "../../tables/target.js";
import { findDeclared, writeFirstVersion } from "../tables/declared-table.js";
import { writePart } from "./multipart-part.js";

const insertIntoTable = operation({
  id: "InsertIntoTable",
  methods: ["POST"],
  path: "/v1/table/{id}/insert",
  summary: "Insert the rows of an Arrow IPC stream",
  tag: "Table",
  params: Type.Object({
    branch,
    mode: Type.Optional(
      Type.String({ description: "Append (default), or Overwrite: replaces all rows" }),
    ),
    upload_id: Type.Optional(
      Type.String({ minLength: 1, description: "the rows are a part of this upload" }),
    ),
    upload_part_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: "name of the part: one of the same name is replaced; default: another part",
      }),
    ),
  }),
  body: { kind: "arrow" },
  reply: Type.Object({
    transaction_id: transactionId,
    num_inserted_rows: count,
    version: Type.Optional(count),
  }),
  permission: "write",
  repeatable: true,
  unrecorded: ({ params }) => params.upload_id !== undefined,
  async handle(services, call) {
    const { id, params, payload, attempt } = call;
    const mode = choice("mode", params.mode ?? "append", ["append", "overwrite"]);
    const { upload_id: upload, upload_part_id: part, branch } = params;
    if (upload !== undefined) {
      const overwrite = mode === "overwrite";
      // Sent again, the part takes the place of what an earlier attempt left.
      const name = part ?? attempt?.id;
      const wanted = { upload, part: name, branch, overwrite };
      const rows = await writePart(services, id, payload, wanted);
      return { kind: "json", value: { num_inserted_rows: rows } };
    }
    if (part !== undefined) {
      throw invalidInput("upload_part_id is given without the upload_id of the upload it is of");
    }
    const declared = branchName(branch) === undefined ? findDeclared(services, id) : undefined;
    const { version, numRows } =
      declared && (await declared)
        ? await writeFirstVersion(services, call, (table) => table.create(payload, false))
        : await changingTable(services, id, payload, ({ table }) =>
            onBranch(forAttempt(table, call), branch)[mode](payload),
          );
    return {
      kind: "json",
      value: { num_inserted_rows: numRows, version },
      headers: versionHeader(version),
    };
  },
});

const deleteFromTable = operation({
  id: "DeleteFromTable",
  methods: ["POST"],
  path: "/v1/table/{id}/delete",
  summary: "Delete the rows for which a predicate is true",
  tag: "Table",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ predicate, branch }) },
  reply: Type.Object({ transaction_id: transactionId, version: count, num_deleted_rows: count }),
  permission: "write",
  repeatable: true,
  async handle(services, call) {
    const { id, payload } = call;
    if (payload.predicate.trim() === "") {
      throw invalidInput("predicate is blank: to delete all rows say true");
    }
    const { version, numDeletedRows } = await changingTable(services, id, undefined, ({ table }) =>
      onBranch(forAttempt(table, call), payload.branch).delete(payload.predicate),
    );
    return {
      kind: "json",
      value: { version, num_deleted_rows: numDeletedRows },
      headers: versionHeader(version),
    };
  },
});

const counted = Type.Object({ version, branch, predicate: Type.Optional(predicate) });

const countTableRows = operation({
  id: "CountTableRows",
  methods: ["GET", "POST"],
  path: "/v1/table/{id}/count_rows",
  summary: "Count a table's rows, or those for which a predicate is true",
  tag: "Table",
  params: counted,
  body: { kind: "json", schema: counted },
  reply: count,
  permission: "read",
  handle(services, call) {
    const wanted = { ...call.params, ...call.payload };
    const options = readOptions(wanted, call.fresh);
    const { predicate } = wanted;
    const reply = (rows: number): Reply => ({ kind: "json", value: rows });
    const rows = onTableAtHand(services, call.id, ({ table }) =>
      onBranch(table, wanted.branch).countRows({
        ...options,
        ...(predicate !== undefined && { predicate }),
      }),
    );
    return typeof rows === "number" ? reply(rows) : rows.then(reply);
  },
});

export const rows = [insertIntoTable, deleteFromTable, countTableRows];
