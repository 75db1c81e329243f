import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, onBranch } from "../../tables/target.js";

const prewarmIndex = operation({
  id: "PrewarmTableIndex",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/index/{index_name}/prewarm/",
  summary: "Begin to load an index into memory, as far as it fits there",
  tag: "Index",
  params: Type.Object({ branch }),
  body: { kind: "json", schema: nothing },
  reply: Type.Object({}),
  permission: "read",
  mainThreadOnly: true,
  handle: (services, { id, path, params }) =>
    onTable(services, id, async ({ record, table }) => {
      const name = path.index_name ?? "";
      const target = onBranch(table, params.branch);
      // Code 6 while somebody waits for the answer.
      await target.indexStats(name);
      const key = JSON.stringify([record.key, branchName(params.branch), "index", name]);
      begin(services, key, () => target.prewarmIndex(name));
      return { kind: "json", value: {} };
    }),
});

const prewarmPageCache = operation({
  id: "PrewarmTablePageCache",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/page_cache/prewarm/",
  summary: "Begin to read columns ahead of their use",
  tag: "Table",
  params: Type.Object({ branch }),
  body: {
    kind: "json",
    schema: Type.Object({
      branch,
      columns: Type.Optional(Type.Array(Type.String(), { description: "none: all of them" })),
    }),
  },
  reply: Type.Object({}),
  permission: "read",
  mainThreadOnly: true,
  handle: (services, { id, params, payload }) =>
    onTable(services, id, async ({ record, table }) => {
      const branch = branchName(payload.branch ?? params.branch);
      const target = onBranch(table, branch);
      const columns = await target.resolveColumns(payload.columns ?? []);
      const key = JSON.stringify([record.key, branch, "columns", [...columns].sort()]);
      begin(services, key, () => target.prewarmColumns(columns));
      return { kind: "json", value: {} };
    }),
});

/** The client does not wait. */
function begin({ prewarming, log }: Services, key: string, work: () => Promise<void>): void {
  prewarming
    .enqueue(key, work)
    // The table may have been dropped meanwhile.
    .catch((err: unknown) => log.info({ err }, "prewarming ended early"));
}

export const prewarming = [prewarmIndex, prewarmPageCache];
