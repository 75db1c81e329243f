import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { commonMembers, nothing } from "../../api/schemas.js";
import { runStatement, type SqlFormat } from "./sql-statement.js";

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(
  schema: T,
  description: string,
) => Type.Optional(Type.Union([schema, Type.Null()], { description }));

const value = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

/** The engine decodes it (`crates/joust-core/src/sql/request.rs`). */
const request = Type.Object({
  identity: nullable(commonMembers.identity, "the caller's key, if no header has it"),
  context: nullable(commonMembers.context, "same as the headers x-ns-ctx-*"),
  query: Type.String({ description: "one SELECT, or EXPLAIN of one" }),
  parameters: nullable(
    Type.Array(Type.Union([value, Type.Array(Type.Unknown())])),
    "values for $1, $2 and so on, one for each placeholder of the query; a list is an ARRAY",
  ),
  limit: nullable(
    Type.Integer({ minimum: 0, exclusiveMaximum: 2 ** 64 }),
    "maximum number of rows; default: all",
  ),
});

/** The media types of a reply. The first one is the default. */
export const mediaTypes: readonly (readonly [type: string, format: SqlFormat])[] = [
  ["application/vnd.apache.arrow.stream", "stream"],
  ["application/vnd.apache.arrow.file", "file"],
  ["application/json", "json"],
  ["application/x-ndjson", "json-lines"],
  ["text/csv", "csv"],
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
  summary: "Run one SELECT over the catalog's tables; the reply is Arrow IPC, JSON or CSV",
  tag: "SQL",
  params: nothing,
  body: { kind: "raw-json", schema: request },
  access: accessTo("named tables", "select"),
  uses: ["catalog", "config", "engine"],
  async handle(services, call) {
    const [contentType, format] = negotiate(call.header("accept"));
    const answer = await runStatement(services, call.payload, {
      format,
      fresh: call.fresh,
      onAbort: (work) => call.onAbort(work),
    });
    return { kind: "arrow", contentType, answer };
  },
});
