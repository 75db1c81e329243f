import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { commonMembers, nothing } from "../../api/schemas.js";
import { runStatement, type SqlFormat } from "./sql-statement.js";

const maybe = <T extends Parameters<typeof Type.Union>[0][number]>(
  schema: T,
  description: string,
) => Type.Optional(Type.Union([schema, Type.Null()], { description }));

const value = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

/** The engine reads it (`crates/joust-core/src/sql/request.rs`). */
const request = Type.Object({
  identity: maybe(commonMembers.identity, "who asks"),
  context: maybe(commonMembers.context, "as the headers x-ns-ctx-*"),
  query: Type.String({ description: "one SELECT, or EXPLAIN of one" }),
  parameters: maybe(
    Type.Array(Type.Union([value, Type.Array(Type.Unknown())])),
    "values for $1, $2 and so on, as many as the query has; a list is an ARRAY",
  ),
  limit: maybe(
    Type.Integer({ minimum: 0, exclusiveMaximum: 2 ** 64 }),
    "rows to return, at most; default: all",
  ),
});

/** Media types of an answer. The first one is for those who ask for none of them. */
export const mediaTypes: readonly (readonly [type: string, format: SqlFormat])[] = [
  ["application/vnd.apache.arrow.stream", "stream"],
  ["application/vnd.apache.arrow.file", "file"],
  ["application/json", "json"],
  ["application/x-ndjson", "json-lines"],
  ["text/csv", "csv"],
];

/** The first type of an Accept header that an answer can have. */
function accepted(accept: string): readonly [type: string, format: SqlFormat] {
  for (const entry of accept.toLowerCase().split(",")) {
    const wanted = entry.split(";")[0]?.trim();
    if (wanted === "*/*") break;
    const found = mediaTypes.find(([type]) => type === wanted);
    if (found) return found;
  }
  return mediaTypes[0] as readonly [string, SqlFormat];
}

export const executeSql = operation({
  id: "ExecuteSql",
  methods: ["POST"],
  path: "/v1/sql",
  summary: "Run one SELECT over the catalog's tables; the reply is Arrow IPC, JSON or CSV",
  tag: "SQL",
  params: nothing,
  body: { kind: "raw-json", schema: request },
  permission: "read",
  uses: ["catalog", "config", "engine"],
  async handle(services, call) {
    const [contentType, format] = accepted(call.header("accept"));
    const answer = await runStatement(services, call.payload, {
      format,
      fresh: call.fresh,
      onAbort: (work) => call.onAbort(work),
    });
    return { kind: "arrow", contentType, answer };
  },
});
