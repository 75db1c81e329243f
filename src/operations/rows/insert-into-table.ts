import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { tableForAttempt } from "../../api/idempotency/attempt.js";
import { operation } from "../../api/operation.js";
import { branch, count, transactionId } from "../../api/schemas.js";
import { parseChoice } from "../../api/validation/choice.js";
import { invalidInput } from "../../foundation/errors.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch, versionHeader } from "../../tables/target.js";
import { findDeclared, writeFirstVersion } from "../tables/declared-table.js";
import { toReplaceRows } from "./replace-access.js";
import { writePart } from "./write-part.js";

const readMode = (mode = "append") => parseChoice("mode", mode, ["append", "overwrite"]);

export const insertIntoTable = operation({
  id: "InsertIntoTable",
  methods: ["POST"],
  path: "/v1/table/{id}/insert",
  summary: "Insert the rows of an Arrow IPC stream",
  tag: "Table",
  params: Type.Object({
    branch,
    mode: Type.Optional(
      Type.String({ description: "Append (default), or Overwrite: replace all rows" }),
    ),
    upload_id: Type.Optional(
      Type.String({ minLength: 1, description: "insert the rows as a part of this upload" }),
    ),
    upload_part_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: "name of the part; replaces a part of the same name; default: a new part",
      }),
    ),
  }),
  body: { kind: "arrow" },
  reply: Type.Object({
    transaction_id: transactionId,
    num_inserted_rows: count,
    version: Type.Optional(count),
  }),
  access: {
    ...accessTo("table", "insert"),
    sometimes: ["update", "delete"],
    rows: ["insert"],
    also: ({ id, params }) => (readMode(params.mode) === "overwrite" ? toReplaceRows(id) : []),
  },
  limited: ["storage"],
  repeatable: true,
  unrecorded: ({ params }) => params.upload_id !== undefined,
  uses: ["catalog", "config", "engine", "log", "maintenance", "multipart"],
  async handle(services, call) {
    const { id, params, payload, attempt } = call;
    const mode = readMode(params.mode);
    const { upload_id: upload, upload_part_id: part, branch } = params;
    if (upload !== undefined) {
      const overwrite = mode === "overwrite";
      // A repeated request replaces the part of its earlier attempt.
      const target = { upload, part: part ?? attempt?.id, branch, overwrite };
      const rows = await writePart(services, id, payload, target);
      return { kind: "json", value: { num_inserted_rows: rows } };
    }
    if (part !== undefined) {
      throw invalidInput("upload_part_id needs the upload_id of its upload");
    }
    const declared = branchName(branch) === undefined ? findDeclared(services, id) : undefined;
    const { version, numRows } =
      declared && (await declared)
        ? await writeFirstVersion(services, call, (table) => table.create(payload, false))
        : await changingTable(services, id, payload, ({ table }) =>
            onBranch(tableForAttempt(table, call), branch)[mode](payload),
          );
    return {
      kind: "json",
      value: { num_inserted_rows: numRows, version },
      headers: versionHeader(version),
    };
  },
});
