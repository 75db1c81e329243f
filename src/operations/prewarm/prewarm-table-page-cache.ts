import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, onBranch } from "../../tables/target.js";
import { startPrewarming } from "./start-prewarming.js";

export const prewarmTablePageCache = operation({
  id: "PrewarmTablePageCache",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/page_cache/prewarm/",
  summary: "Start to read columns into memory, as far as they fit",
  tag: "Table",
  params: Type.Object({ branch }),
  body: {
    kind: "json",
    schema: Type.Object({
      branch,
      columns: Type.Optional(Type.Array(Type.String(), { description: "default: all columns" })),
    }),
  },
  reply: Type.Object({}),
  access: accessTo("table", "select"),
  mainThreadOnly: true,
  uses: ["catalog", "config", "engine", "log", "prewarming"],
  handle: (services, { id, params, payload }) =>
    onTable(services, id, async ({ record, table }) => {
      const branch = branchName(payload.branch ?? params.branch);
      const target = onBranch(table, branch);
      const columns = await target.resolveColumns(payload.columns ?? []);
      const key = JSON.stringify([record.key, branch, "columns", [...columns].sort()]);
      startPrewarming(services, key, () => target.prewarmColumns(columns));
      return { kind: "json", value: {} };
    }),
});
