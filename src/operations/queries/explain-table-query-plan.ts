import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { queryKind } from "./query-kind.js";
import { queryOptions } from "./query-options.js";
import { explainRequest } from "./query-request.js";

export const explainTableQueryPlan = operation({
  id: "ExplainTableQueryPlan",
  methods: ["POST"],
  path: "/v1/table/{id}/explain_plan",
  summary: "Show the plan of a query",
  tag: "Table",
  params: nothing,
  body: {
    kind: "raw-json",
    schema: explainRequest,
  },
  reply: Type.String(),
  access: { ...accessTo("table", "select"), rows: ["select"] },
  limited: ["query"],
  queryKind,
  uses: ["catalog", "config", "engine"],
  async handle(services, call) {
    const options = queryOptions(call);
    const plan = await onTable(services, call.id, ({ table }) =>
      table.explainPlan(call.payload, options),
    );
    return { kind: "json", value: plan };
  },
});
