import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { IDEMPOTENCY_KEY } from "../../api/idempotency/key.js";
import { operation } from "../../api/operation.js";
import { prefersAsync } from "../../api/prefer-header.js";
import { commonMembers, nothing } from "../../api/schemas.js";
import { encodeResult } from "../statements/statement-result.js";
import { statementServices } from "../statements/statement-run.js";
import { executeStatement } from "./execute-statement.js";
import type { SqlFormat } from "./sql-statement.js";

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(
  schema: T,
  description: string,
) => Type.Optional(Type.Union([schema, Type.Null()], { description }));

const value = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

/** The engine decodes it (`crates/joust-core/src/sql/request.rs`). */
const request = Type.Object({
  identity: nullable(commonMembers.identity, "the caller's key, if no header has it"),
  context: nullable(commonMembers.context, "same as the headers x-ns-ctx-*"),
  query: Type.String({
    description:
      "one statement: SELECT, EXPLAIN, INSERT, UPDATE, DELETE, MERGE, CREATE, ALTER, DROP, or one of a materialized view",
  }),
  parameters: nullable(
    Type.Array(Type.Union([value, Type.Array(Type.Unknown())])),
    "one value for each placeholder ($1, $2, ...) of the statement; a list is an ARRAY",
  ),
  limit: nullable(
    Type.Integer({ minimum: 0, exclusiveMaximum: 2 ** 64 }),
    "maximum number of rows in the reply; default: all",
  ),
});

/** The media types of a reply. The first one is the default. */
export const mediaTypes: readonly (readonly [type: string, format: SqlFormat])[] = [
  ["application/vnd.apache.arrow.stream", "stream"],
  ["application/vnd.apache.arrow.file", "file"],
  ["application/json", "json"],
  ["application/x-ndjson", "json-lines"],
  ["text/csv", "csv"],
  ["application/vnd.apache.parquet", "parquet"],
];

/** The first media type of an Accept header that a reply can have. */
function negotiate(accept: string): readonly [type: string, format: SqlFormat] {
  for (const entry of accept.toLowerCase().split(",")) {
    const accepted = entry.split(";")[0]?.trim();
    if (accepted === "*/*") break;
    const match = mediaTypes.find(([type]) => type === accepted);
    if (match) return match;
  }
  return mediaTypes[0] as readonly [string, SqlFormat];
}

export const executeSql = operation({
  id: "ExecuteSql",
  methods: ["POST"],
  path: "/v1/sql",
  summary:
    "Run one SQL statement over the catalog; the reply is Arrow IPC, JSON, CSV or Parquet. A statement that changes something needs the permission of its operation",
  tag: "SQL",
  params: nothing,
  body: { kind: "raw-json", schema: request },
  access: { ...accessTo("named tables", "select"), rows: ["select"] },
  limited: ["query"],
  queryKind: () => "sql",
  uses: statementServices,
  async handle(services, call) {
    const [contentType, format] = negotiate(call.header("accept"));
    const { payload: body, requestId, callerId, context, fresh, database, timeLeftMs } = call;
    const statement = {
      body,
      requestId,
      callerId,
      context,
      fresh,
      timeLeftMs,
      database,
      namespace: database,
      hasIdempotencyKey: call.header(IDEMPOTENCY_KEY) !== "",
      respondAsync: prefersAsync(call.header("prefer")),
      onAbort: (work: () => void) => call.onAbort(work),
      authorize: call.authorize.bind(call),
      reads: (id: readonly string[]) => call.reads?.(id),
    };
    const executed = await executeStatement(services, statement, (options) =>
      services.engine.sql(body, { ...options, format }),
    );
    if (executed.kind === "rows") return { kind: "arrow", contentType, answer: executed.rows };
    const { result } = executed;
    const answer = await encodeResult(services, result, format);
    return { kind: "arrow", contentType, answer, headers: result.headers };
  },
});
