import { type Static, Type } from "@sinclair/typebox";
import type { AutoRefresh, NewViewFunction } from "../../engine/index.js";
import { fromBase64 } from "../../foundation/base64.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import { sqlOf } from "./source-query.js";
import { readViewFunction, viewFunction } from "./view-function.js";

const maybe = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/**
 * The body of CreateMaterializedView: in the form of the namespace specification (`kind`, `source_query`,
 * `output_schema`), or in that of LanceDB SDKs (`query`).
 */
export const viewRequest = Type.Object({
  kind: maybe(
    Type.String({
      description:
        "query, or chunker: a Python function makes rows of each row; udtf is not supported: code 0",
    }),
  ),
  source_query: maybe(
    Type.String({
      description:
        'one SELECT, or JSON: {"kind": "query", "query": SELECT}, or a query that a client of LanceDB has built',
    }),
  ),
  output_schema: maybe(
    Type.String({
      description:
        "Arrow schema of the view in base64. Must have the columns of the query; with chunker, some of them and those of the function",
    }),
  ),
  query: maybe(Type.String({ description: "one SELECT, instead of the three members above" })),
  udtf_spec: Type.Optional(
    Type.Union([viewFunction, Type.Null()], {
      description: "the function of a view of kind chunker; must be absent for kind query",
    }),
  ),
  with_no_data: maybe(
    Type.Boolean({ description: "leave the view empty; default: true, with `query`: false" }),
  ),
  auto_refresh: maybe(
    Type.Boolean({ description: "refresh the view when its sources have changed; default: false" }),
  ),
  auto_refresh_interval_seconds: maybe(
    Type.Number({
      exclusiveMinimum: 0,
      description: "time between two refreshes; default: the server's --auto-refresh-interval",
    }),
  ),
});

/** The view that a request defines. */
export interface ViewDefinition {
  sql: string;
  schema?: Buffer;
  /** Makes the rows from each row of the query. */
  function?: NewViewFunction;
  withData: boolean;
  /** Absent: only requests refresh the view. */
  autoRefresh?: AutoRefresh;
  /** The request has the SDKs' form. They expect a job's id and status 202 if the view is filled. */
  sdk: boolean;
}

/** @throws code 13 for a missing or invalid member, 0 for a view that this server cannot refresh */
export function readViewRequest(body: Static<typeof viewRequest>): ViewDefinition {
  const autoRefresh = autoRefreshOf(body);
  if (body.query != null) {
    for (const other of ["kind", "source_query", "output_schema", "udtf_spec"] as const) {
      if (body[other] != null) {
        throw invalidInput(
          `query and ${other} cannot both be set: they belong to two forms of the request`,
        );
      }
    }
    const withData = body.with_no_data !== true;
    return { sql: body.query, withData, sdk: true, ...autoRefresh };
  }
  return {
    ...readColumns(body),
    sql: sqlOf(required("source_query", body.source_query)),
    withData: body.with_no_data === false,
    sdk: false,
    ...autoRefresh,
  };
}

/** What defines the columns of a view, beside its query. */
function readColumns({
  kind,
  output_schema: schema,
  udtf_spec: spec,
}: Static<typeof viewRequest>): Pick<ViewDefinition, "schema" | "function"> {
  if (checkedKind(kind) === "query") {
    if (spec != null) throw invalidInput("udtf_spec must be null when kind is query");
    return { schema: fromBase64("output_schema", required("output_schema", schema)) };
  }
  if (spec == null) throw invalidInput("kind chunker needs udtf_spec");
  return {
    ...(schema != null && { schema: fromBase64("output_schema", schema) }),
    function: readViewFunction(spec, schema != null),
  };
}

function autoRefreshOf({
  auto_refresh: isOn,
  auto_refresh_interval_seconds: intervalSeconds,
}: Static<typeof viewRequest>): Pick<ViewDefinition, "autoRefresh"> {
  if (isOn === true) return { autoRefresh: intervalSeconds == null ? {} : { intervalSeconds } };
  if (intervalSeconds == null) return {};
  throw invalidInput("auto_refresh_interval_seconds needs auto_refresh: true");
}

function required(name: string, value: string | null | undefined): string {
  if (value != null && value.trim() !== "") return value;
  throw invalidInput(`\`${name}\` is missing`);
}

function checkedKind(kind: string | null | undefined): "query" | "chunker" {
  if (kind == null) throw invalidInput("`kind` is missing: it must be query or chunker");
  if (kind === "query" || kind === "chunker") return kind;
  if (kind === "udtf") {
    throw new JoustError(
      ErrorCode.Unsupported,
      "the function of a view of kind udtf reads all rows at once, which this server does not run: use kind chunker, whose function gets each row",
    );
  }
  throw invalidInput(
    `kind must be query, udtf or chunker, not ${JSON.stringify(kind.slice(0, 80))}`,
  );
}
