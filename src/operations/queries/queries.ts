import { Type } from "@sinclair/typebox";
import { type Call, operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { taskOf } from "../../api/task-of.js";
import { cancelQuery, type QueryOptions } from "../../engine/index.js";
import { mergeObjects } from "../../foundation/merge-objects.js";
import { onTable } from "../../tables/open-table.js";
import { versionHeader } from "../../tables/target.js";
import { queryNumber } from "./query-number.js";
import { explainRequest, queryRequest } from "./query-request.js";

const FILE = "application/vnd.apache.arrow.file";
const STREAM = "application/vnd.apache.arrow.stream";

const queryTable = operation({
  id: "QueryTable",
  methods: ["POST"],
  path: "/v1/table/{id}/query",
  summary: "Search a table by vector or filter; the reply is Arrow IPC",
  tag: "Table",
  params: nothing,
  body: { kind: "raw-json", schema: queryRequest },
  permission: "read",
  async handle(services, call) {
    const options = queryOptions(call);
    const number = queryNumber();
    const answer = await onTable(services, call.id, ({ table }) => {
      const asked = table.query(call.payload, mergeObjects(options, { number }));
      // Afterwards, since nothing is ended before it has begun: at once if the client is gone already.
      call.onAbort(() => cancelQuery(number));
      return asked;
    });
    return {
      kind: "arrow",
      contentType: options.format === "stream" ? STREAM : FILE,
      answer,
      headers: versionHeader(answer.version),
    };
  },
});

const explainTableQueryPlan = operation({
  id: "ExplainTableQueryPlan",
  methods: ["POST"],
  path: "/v1/table/{id}/explain_plan",
  summary: "Show how a query would be run",
  tag: "Table",
  params: nothing,
  body: {
    kind: "raw-json",
    schema: explainRequest,
  },
  reply: Type.String(),
  permission: "read",
  async handle(services, call) {
    const options = queryOptions(call);
    const plan = await onTable(services, call.id, ({ table }) =>
      table.explainPlan(call.payload, options),
    );
    return { kind: "json", value: plan };
  },
});

const analyzeTableQueryPlan = operation({
  id: "AnalyzeTableQueryPlan",
  methods: ["POST"],
  path: "/v1/table/{id}/analyze_plan",
  summary: "Run a query and show what each step of it did",
  tag: "Table",
  params: nothing,
  body: { kind: "raw-json", schema: queryRequest },
  reply: Type.String(),
  permission: "read",
  async handle(services, call) {
    const options = queryOptions(call);
    const task = taskOf(call);
    const analysis = await onTable(services, call.id, ({ table }) =>
      table.analyzePlan(call.payload, options, task),
    );
    return { kind: "json", value: analysis };
  },
});

/** What the engine cannot read in the body, which it decodes itself. */
function queryOptions(call: Call<unknown, Uint8Array>): QueryOptions {
  const accept = call.header("accept");
  return {
    id: [...call.id],
    format: accept.includes(STREAM) && !accept.includes(FILE) ? "stream" : "file",
    ...call.fresh,
  };
}

export const queries = [queryTable, explainTableQueryPlan, analyzeTableQueryPlan];
