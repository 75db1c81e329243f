import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, count, nothing, transactionId } from "../../api/schemas.js";
import { invalidInput } from "../../foundation/errors.js";
import { changingTable } from "../../tables/table-writes.js";
import { checkVersion, onBranch, versionHeader } from "../../tables/target.js";

export const restoreTable = operation({
  id: "RestoreTable",
  methods: ["POST"],
  path: "/v1/table/{id}/restore",
  summary: "Restore an old version of a table as its latest version",
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
  access: accessTo("table", "insert", "update", "delete"),
  limited: ["storage"],
  uses: ["catalog", "config", "engine", "maintenance"],
  handle(services, { id, payload, dialect }) {
    return changingTable(services, id, undefined, async (open) => {
      const table = onBranch(open.table, payload.branch);
      let restored = payload.version;
      if (restored === undefined) {
        // Older SDKs restore the latest version without its number.
        if (dialect !== "lancedb") {
          throw invalidInput("`version` is missing: send the version to restore");
        }
        restored = (await table.describe()).version;
      }
      const version = await table.restore(checkVersion(restored));
      return { kind: "json", value: { version }, headers: versionHeader(version) };
    });
  },
});
