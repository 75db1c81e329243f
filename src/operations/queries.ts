import { Type } from "@sinclair/typebox";
import { type QueryOptions, Task } from "../engine/index.js";
import { openTable } from "./open-table.js";
import { type Call, operation } from "./operation.js";
import { queryRequest } from "./query-request.js";
import { nothing } from "./schemas.js";
import { versionHeader } from "./target.js";

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
    const { table } = await openTable(services, call.id);
    const task = new Task();
    const cancel = () => task.cancel();
    call.signal.addEventListener("abort", cancel, { once: true });
    if (call.signal.aborted) cancel();
    const result = await table.query(call.payload, options, task);
    call.signal.removeEventListener("abort", cancel);
    return {
      kind: "arrow",
      contentType: options.format === "stream" ? STREAM : FILE,
      result,
      headers: versionHeader(result.version),
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
    schema: Type.Object({ query: queryRequest, verbose: Type.Optional(Type.Boolean()) }),
  },
  reply: Type.String(),
  permission: "read",
  async handle(services, call) {
    const { table } = await openTable(services, call.id);
    return { kind: "json", value: await table.explainPlan(call.payload, queryOptions(call)) };
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
    const { table } = await openTable(services, call.id);
    return { kind: "json", value: await table.analyzePlan(call.payload, queryOptions(call)) };
  },
});

/** What the engine cannot read in the body, which it decodes itself. */
function queryOptions(call: Call<unknown, Uint8Array>): QueryOptions {
  const accept = call.header("accept");
  return {
    id: [...call.id],
    format: accept.includes(STREAM) && !accept.includes(FILE) ? "stream" : "file",
    ...(call.minTimestampMillis !== undefined && { minTimestampMillis: call.minTimestampMillis }),
  };
}

export const queries = [queryTable, explainTableQueryPlan, analyzeTableQueryPlan];
