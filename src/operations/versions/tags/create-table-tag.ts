import { accessTo } from "../../../api/access.js";
import { operation } from "../../../api/operation.js";
import { changingReferences } from "../../../tables/table-writes.js";
import { checkVersion, onBranch } from "../../../tables/target.js";
import { tagAssignment } from "./tag-schemas.js";

export const createTableTag = operation({
  ...tagAssignment,
  id: "CreateTableTag",
  path: "/v1/table/{id}/tags/create",
  summary: "Tag a version of a table",
  access: accessTo("table", "create"),
  uses: ["catalog", "config", "engine", "maintenance"],
  async handle(services, { id, payload }) {
    const version = checkVersion(payload.version);
    await changingReferences(services, id, ({ table }) =>
      onBranch(table, payload.branch).createTag(payload.tag, version),
    );
    return { kind: "json", value: {} };
  },
});
