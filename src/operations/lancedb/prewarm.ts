import { Type } from "@sinclair/typebox";
import { onTable } from "../open-table.js";
import { operation } from "../operation.js";
import { branch, nothing } from "../schemas.js";
import { onBranch } from "../target.js";
import { taskOf } from "../task-of.js";

const prewarmIndex = operation({
  id: "PrewarmTableIndex",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/index/{index_name}/prewarm/",
  summary: "Load an index into memory, as far as it fits there",
  tag: "Index",
  params: Type.Object({ branch }),
  body: { kind: "json", schema: nothing },
  reply: Type.Object({}),
  permission: "read",
  async handle(services, call) {
    await onTable(services, call.id, ({ table }) =>
      onBranch(table, call.params.branch).prewarmIndex(call.path.index_name ?? "", taskOf(call)),
    );
    return { kind: "json", value: {} };
  },
});

const prewarmPageCache = operation({
  id: "PrewarmTablePageCache",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/page_cache/prewarm/",
  summary: "Read columns ahead of their use",
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
  async handle(services, call) {
    const { columns = [], branch } = call.payload;
    await onTable(services, call.id, ({ table }) =>
      onBranch(table, branch ?? call.params.branch).prewarmColumns(columns, taskOf(call)),
    );
    return { kind: "json", value: {} };
  },
});

export const prewarming = [prewarmIndex, prewarmPageCache];
