import { Type } from "@sinclair/typebox";
import { type QueryOptions, type QueryResult, QueryWork } from "../engine/index.js";
import { onTable, onTableAtHand } from "./open-table.js";
import { type Call, operation, type Reply } from "./operation.js";
import { explainRequest, queryRequest } from "./query-request.js";
import { nothing } from "./schemas.js";
import { versionHeader } from "./target.js";
import { taskOf } from "./task-of.js";

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
  handle(services, call) {
    const options = queryOptions(call);
    const reply = (result: QueryResult): Reply => ({
      kind: "arrow",
      contentType: options.format === "stream" ? STREAM : FILE,
      result,
      headers: versionHeader(result.version),
    });
    const result = onTableAtHand(services, call.id, ({ table }) =>
      complete(table.query(call.payload, options), call),
    );
    return result instanceof Promise ? result.then(reply) : reply(result);
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

/** What could not be answered at once is worked on until the client goes away. */
function complete(
  answer: QueryResult | QueryWork,
  call: Call<unknown, unknown>,
): QueryResult | Promise<QueryResult> {
  if (!(answer instanceof QueryWork)) return answer;
  call.signal.addEventListener("abort", () => answer.cancel(), { once: true });
  return answer.result();
}

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
