import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, count, nothing, transactionId } from "../../api/schemas.js";
import { changingTable } from "../../tables/table-writes.js";
import { onBranch, versionHeader } from "../../tables/target.js";

export const alterTableDropColumns = operation({
  id: "AlterTableDropColumns",
  methods: ["POST"],
  path: "/v1/table/{id}/drop_columns",
  summary: "Drop columns and the indexes on them",
  tag: "Column",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      branch,
      columns: Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        description: "field paths",
      }),
    }),
  },
  reply: Type.Object({ version: count, transaction_id: transactionId }),
  access: accessTo("table", "drop"),
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, { id, payload }) {
    const version = await changingTable(services, id, undefined, ({ table }) =>
      onBranch(table, payload.branch).dropColumns(payload.columns),
    );
    return { kind: "json", value: { version }, headers: versionHeader(version) };
  },
});
