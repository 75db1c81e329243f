import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, onBranch } from "../../tables/target.js";
import { startPrewarming } from "./start-prewarming.js";

export const prewarmTableIndex = operation({
  id: "PrewarmTableIndex",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/index/{index_name}/prewarm/",
  summary: "Start to load an index into memory, as far as it fits",
  tag: "Index",
  params: Type.Object({ branch }),
  body: { kind: "json", schema: nothing },
  reply: Type.Object({}),
  access: accessTo("table", "select"),
  mainThreadOnly: true,
  uses: ["catalog", "config", "engine", "log", "prewarming"],
  handle: (services, { id, path, params }) =>
    onTable(services, id, async ({ record, table }) => {
      const name = path.index_name ?? "";
      const target = onBranch(table, params.branch);
      // Reports a missing index (code 6) to the client.
      await target.indexStats(name);
      const key = JSON.stringify([record.key, branchName(params.branch), "index", name]);
      startPrewarming(services, key, () => target.prewarmIndex(name));
      return { kind: "json", value: {} };
    }),
});
