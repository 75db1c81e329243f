import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, nothing, version } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { checkVersion, onBranch, readOptions } from "../../tables/target.js";
import { tableVersion, versionEntry } from "./version-entry.js";

export const describeTableVersion = operation({
  id: "DescribeTableVersion",
  methods: ["POST"],
  path: "/v1/table/{id}/version/describe",
  summary: "Describe one version of a table",
  tag: "Version",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ version, branch }) },
  reply: Type.Object({ version: tableVersion }),
  access: accessTo("table"),
  uses: ["catalog", "config", "engine"],
  async handle(services, { id, payload, fresh }) {
    const version = await onTable(services, id, async (open) => {
      const table = onBranch(open.table, payload.branch);
      const number = payload.version ?? (await table.describe(readOptions({}, fresh))).version;
      return table.describeVersion(checkVersion(number));
    });
    return { kind: "json", value: { version: versionEntry(version) } };
  },
});
