import { accessTo } from "../../../api/access.js";
import { operation } from "../../../api/operation.js";
import { changingReferences } from "../../../tables/table-writes.js";
import { checkVersion, onBranch } from "../../../tables/target.js";
import { tagAssignment } from "./tag-schemas.js";

export const updateTableTag = operation({
  ...tagAssignment,
  id: "UpdateTableTag",
  path: "/v1/table/{id}/tags/update",
  summary: "Move a tag to another version",
  access: accessTo("table", "update"),
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, { id, payload }) {
    const version = checkVersion(payload.version);
    await changingReferences(services, id, ({ table }) =>
      onBranch(table, payload.branch).updateTag(payload.tag, version),
    );
    return { kind: "json", value: {} };
  },
});
