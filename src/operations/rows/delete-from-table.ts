import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { tableForAttempt } from "../../api/idempotency/attempt.js";
import { operation } from "../../api/operation.js";
import { branch, count, nothing, predicate, transactionId } from "../../api/schemas.js";
import { invalidInput } from "../../foundation/errors.js";
import { changingTable } from "../../tables/table-writes.js";
import { onBranch, versionHeader } from "../../tables/target.js";

export const deleteFromTable = operation({
  id: "DeleteFromTable",
  methods: ["POST"],
  path: "/v1/table/{id}/delete",
  summary: "Delete the rows for which a predicate is true",
  tag: "Table",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ predicate, branch }) },
  reply: Type.Object({ transaction_id: transactionId, version: count, num_deleted_rows: count }),
  access: { ...accessTo("table", "delete"), rows: ["delete"] },
  limited: ["query"],
  repeatable: true,
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, call) {
    const { id, payload } = call;
    if (payload.predicate.trim() === "") {
      throw invalidInput("predicate is blank: use true to delete all rows");
    }
    const { version, numDeletedRows } = await changingTable(services, id, undefined, ({ table }) =>
      onBranch(tableForAttempt(table, call), payload.branch).delete(payload.predicate),
    );
    return {
      kind: "json",
      value: { version, num_deleted_rows: numDeletedRows },
      headers: versionHeader(version),
    };
  },
});
