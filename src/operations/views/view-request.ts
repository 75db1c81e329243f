import { type Static, Type } from "@sinclair/typebox";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";

const maybe = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/**
 * Body of CreateMaterializedView: the interface's form (`kind`, `source_query`, `output_schema`), or
 * the LanceDB SDKs' (`query`).
 */
export const viewRequest = Type.Object({
  kind: maybe(
    Type.String({ description: "query; udtf and chunker need a Python executor: code 0" }),
  ),
  source_query: maybe(
    Type.String({ description: 'one SELECT, or JSON: {"kind": "query", "query": SELECT}' }),
  ),
  output_schema: maybe(
    Type.String({ description: "Arrow schema of the view in base64; its columns are the query's" }),
  ),
  query: maybe(Type.String({ description: "one SELECT, in place of the three above" })),
  udtf_spec: Type.Optional(Type.Unknown({ description: "not for kind query" })),
  with_no_data: maybe(
    Type.Boolean({ description: "leave the view empty; default true, with `query` false" }),
  ),
  auto_refresh: maybe(Type.Boolean({ description: "true is not served: code 0" })),
});

/** What a request asks for. */
export interface WantedView {
  sql: string;
  schema?: Buffer;
  withData: boolean;
  /** The SDKs await a job's id and status 202 whenever there are to be data. */
  sdk: boolean;
}

/** @throws code 13 for what is missing or wrong, 0 for what needs an executor that is not there */
export function wantedView(body: Static<typeof viewRequest>): WantedView {
  if (body.auto_refresh === true) {
    throw new JoustError(
      ErrorCode.Unsupported,
      "this server does not refresh views by itself: leave auto_refresh out and call refresh",
    );
  }
  if (body.query != null) {
    for (const other of ["kind", "source_query", "output_schema"] as const) {
      if (body[other] != null) {
        throw invalidInput(
          `query and ${other} are both given: one form of the request has only one`,
        );
      }
    }
    return { sql: body.query, withData: body.with_no_data !== true, sdk: true };
  }
  checkKind(body.kind);
  if (body.udtf_spec != null) throw invalidInput("udtf_spec must be null when kind is query");
  return {
    sql: sqlOf(required("source_query", body.source_query)),
    schema: fromBase64(required("output_schema", body.output_schema)),
    withData: body.with_no_data === false,
    sdk: false,
  };
}

function required(name: string, value: string | null | undefined): string {
  if (value != null && value.trim() !== "") return value;
  throw invalidInput(`\`${name}\` is missing`);
}

function checkKind(kind: string | null | undefined): void {
  if (kind == null) throw invalidInput("`kind` is missing: it is query");
  if (kind === "query") return;
  if (kind === "udtf" || kind === "chunker") {
    throw new JoustError(
      ErrorCode.Unsupported,
      `a view of kind ${kind} is computed by a Python function, and this server has no executor for Python functions`,
    );
  }
  throw invalidInput(
    `kind must be query, udtf or chunker, not ${JSON.stringify(kind.slice(0, 80))}`,
  );
}

/** Clients send the query as it is, or in the form in which a view's metadata keeps it. */
function sqlOf(source: string): string {
  if (!source.trimStart().startsWith("{")) return source;
  let definition: { kind?: unknown; query?: unknown } | null;
  try {
    definition = JSON.parse(source);
  } catch {
    throw invalidInput("source_query begins as JSON and is none");
  }
  const { kind, query } = definition ?? {};
  if (kind !== undefined && kind !== "query") {
    throw invalidInput("source_query is JSON of another kind than query");
  }
  if (typeof query === "string") return query;
  throw invalidInput('source_query is JSON without a SELECT in "query"');
}

function fromBase64(encoded: string): Buffer {
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.toString("base64").replace(/=+$/, "") === encoded.replace(/=+$/, "")) return bytes;
  throw invalidInput("output_schema must be base64");
}
