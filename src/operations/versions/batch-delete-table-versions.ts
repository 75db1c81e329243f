import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, count, nothing, transactionId } from "../../api/schemas.js";
import { changingReferences } from "../../tables/table-writes.js";
import { onBranch } from "../../tables/target.js";
import { readRanges, versionRanges } from "./version-ranges.js";

export const batchDeleteTableVersions = operation({
  id: "BatchDeleteTableVersions",
  methods: ["POST"],
  path: "/v1/table/{id}/version/delete",
  summary: "Delete versions that no tag or branch refers to; the latest version remains",
  tag: "Version",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      branch,
      ranges: versionRanges,
    }),
  },
  reply: Type.Object({ deleted_count: count, transaction_id: transactionId }),
  access: accessTo("table", "manage"),
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, { id, payload }) {
    const ranges = readRanges(payload.ranges);
    const deleted = await changingReferences(services, id, ({ table }) =>
      onBranch(table, payload.branch).deleteVersions(ranges),
    );
    return { kind: "json", value: { deleted_count: deleted } };
  },
});
