import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { cancellableTask } from "../../api/cancellable-task.js";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { queryKind } from "./query-kind.js";
import { queryOptions } from "./query-options.js";
import { queryRequest } from "./query-request.js";

export const analyzeTableQueryPlan = operation({
  id: "AnalyzeTableQueryPlan",
  methods: ["POST"],
  path: "/v1/table/{id}/analyze_plan",
  summary: "Run a query and show the metrics of each step",
  tag: "Table",
  params: nothing,
  body: { kind: "raw-json", schema: queryRequest },
  reply: Type.String(),
  access: { ...accessTo("table", "select"), rows: ["select"] },
  limited: ["query"],
  queryKind,
  uses: ["catalog", "config", "engine"],
  async handle(services, call) {
    const options = queryOptions(call);
    const task = cancellableTask(call);
    const analysis = await onTable(services, call.id, ({ table }) =>
      table.analyzePlan(call.payload, options, task),
    );
    return { kind: "json", value: analysis };
  },
});
