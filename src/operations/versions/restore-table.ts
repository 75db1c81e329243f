import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { branch, count, nothing, transactionId } from "../../api/schemas.js";
import { invalidInput } from "../../foundation/errors.js";
import { changingTable } from "../../tables/table-writes.js";
import { checkVersion, onBranch, versionHeader } from "../../tables/target.js";

export const restoreTable = operation({
  id: "RestoreTable",
  methods: ["POST"],
  path: "/v1/table/{id}/restore",
  summary: "Make what a table held at an old version its newest version",
  tag: "Table",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      version: Type.Optional(Type.Integer({ minimum: 0, description: "version to restore" })),
      branch,
    }),
  },
  reply: Type.Object({ transaction_id: transactionId, version: count }),
  permission: "write",
  uses: ["catalog", "config", "engine", "maintenance"],
  handle(services, { id, payload, dialect }) {
    return changingTable(services, id, undefined, async (open) => {
      const table = onBranch(open.table, payload.branch);
      let wanted = payload.version;
      if (wanted === undefined) {
        // Older SDKs restore a table that is at its newest version without saying which that is.
        if (dialect !== "lancedb") throw invalidInput("`version` is missing: say which to restore");
        wanted = (await table.describe()).version;
      }
      const version = await table.restore(checkVersion(wanted));
      return { kind: "json", value: { version }, headers: versionHeader(version) };
    });
  },
});
