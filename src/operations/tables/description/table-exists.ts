import { Type } from "@sinclair/typebox";
import { accessTo } from "../../../api/access.js";
import { operation, type Reply } from "../../../api/operation.js";
import { version } from "../../../api/schemas.js";
import { isOnlyDeclared, onDeclared } from "../../../tables/open-table.js";
import { readOptions, versionHeader } from "../../../tables/target.js";

export const tableExists = operation({
  id: "TableExists",
  methods: ["POST"],
  path: "/v1/table/{id}/exists",
  summary: "Check whether a table, or a version of it, exists: 200 or 404",
  tag: "Table",
  params: Type.Object({}),
  body: { kind: "json", schema: Type.Object({ version }) },
  access: { ...accessTo("table"), rows: [] },
  uses: ["catalog", "config", "engine"],
  async handle(services, call) {
    const options = readOptions(call.payload, call.fresh);
    return onDeclared(services, call.id, async (open): Promise<Reply> => {
      if (options.version === undefined && (await isOnlyDeclared(services, open))) {
        return { kind: "empty" };
      }
      const { version } = await open.table.describe(options);
      return { kind: "empty", headers: versionHeader(version) };
    });
  },
});
