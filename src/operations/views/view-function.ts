/** The Python function of a view of kind chunker: it makes rows of the view from each row of the query. */
import { type Static, Type } from "@sinclair/typebox";
import type { NewViewFunction } from "../../engine/index.js";
import { fromBase64 } from "../../foundation/base64.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import {
  checkManifest,
  dataType,
  pythonSource,
  sha256,
  sourcePayload,
} from "../columns/python-function.js";
import { ignoredOption } from "../jobs/job-request.js";

const text = (description: string) =>
  Type.Optional(Type.Union([Type.String({ description }), Type.Null()]));

export const viewFunction = Type.Object({
  kind: text("chunker, as the kind of the view"),
  python: Type.Optional(
    Type.Union([pythonSource, Type.Null()], {
      description: "the function as source, in place of udtf",
    }),
  ),
  udtf: text("the function of a LanceDB client, base64; needs udtf_sha and udtf_name"),
  udtf_sha: text("SHA-256 of udtf, hex"),
  udtf_name: text("name of the function"),
  udtf_version: text("version of the function"),
  input_columns: Type.Optional(
    Type.Union([Type.Array(Type.String({ minLength: 1 })), Type.Null()], {
      description: "columns of the query, in the order of the function's parameters",
    }),
  ),
  outputs: Type.Optional(
    Type.Union(
      [
        Type.Array(Type.Object({ column: Type.String({ minLength: 1 }), data_type: dataType }), {
          minItems: 1,
        }),
        Type.Null(),
      ],
      { description: "columns of the rows that the function makes, in place of output_schema" },
    ),
  ),
  inherited_columns: Type.Optional(
    Type.Union([Type.Array(Type.String({ minLength: 1 })), Type.Null()], {
      description: "columns of the query that the view has, with outputs; default: all",
    }),
  ),
  batch: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], { description: "must not be true: code 0" }),
  ),
  manifest: text("environment of the function, JSON; no effect on this server"),
  manifest_checksum: text("SHA-256 of the manifest, hex"),
  partition_by: text("must be absent for kind chunker"),
  partition_by_indexed_column: text("must be absent for kind chunker"),
  num_cpus: ignoredOption(Type.Number()),
  num_gpus: ignoredOption(Type.Number()),
  memory: ignoredOption(Type.Integer()),
  error_handling: ignoredOption(Type.Object({})),
});

/**
 * The function of a request. `hasSchema`: whether the request has `output_schema`.
 *
 * @throws code 13 for a missing or invalid member, 0 for a function that this server cannot run
 */
export function readViewFunction(
  spec: Static<typeof viewFunction>,
  hasSchema: boolean,
): NewViewFunction {
  if (spec.kind != null && spec.kind !== "chunker") {
    throw invalidInput(
      `udtf_spec.kind is ${JSON.stringify(spec.kind.slice(0, 80))}, and kind is chunker`,
    );
  }
  for (const member of ["partition_by", "partition_by_indexed_column"] as const) {
    if (spec[member] != null) throw invalidInput(`${member} must be absent for kind chunker`);
  }
  if (spec.batch === true) {
    throw new JoustError(
      ErrorCode.Unsupported,
      "a function with batch: true returns rows of all its arguments at once, which this server does not run: let it return the rows of each row, and leave batch out",
    );
  }
  checkManifest(spec);
  if (spec.input_columns == null || spec.input_columns.length === 0) {
    throw invalidInput("udtf_spec needs input_columns: the columns that the function gets");
  }
  return {
    ...readPayload(spec),
    ...(spec.udtf_version != null && { version: spec.udtf_version }),
    inputs: spec.input_columns,
    ...readColumns(spec, hasSchema),
  };
}

function readPayload(
  spec: Static<typeof viewFunction>,
): Pick<NewViewFunction, "name" | "payload" | "sha256"> {
  const { python, udtf, udtf_sha, udtf_name } = spec;
  if (python != null) {
    if (udtf != null || udtf_sha != null || udtf_name != null) {
      throw invalidInput("python cannot be set together with udtf, udtf_sha or udtf_name");
    }
    const payload = sourcePayload(python);
    return { name: python.entry, payload, sha256: sha256(payload) };
  }
  if (!(udtf && udtf_sha && udtf_name)) {
    throw invalidInput("udtf_spec needs python, or udtf, udtf_sha and udtf_name");
  }
  const payload = fromBase64("udtf", udtf);
  const digest = sha256(payload);
  // Clients digest the text or what it encodes.
  if (![digest, sha256(udtf)].includes(udtf_sha.toLowerCase())) {
    throw invalidInput("udtf_sha is not the SHA-256 of udtf");
  }
  return { name: udtf_name, payload, sha256: digest };
}

function readColumns(
  { outputs, inherited_columns: inherited }: Static<typeof viewFunction>,
  hasSchema: boolean,
): Pick<NewViewFunction, "outputs" | "inherited"> {
  if (hasSchema) {
    if (outputs == null && inherited == null) return { outputs: [] };
    throw invalidInput(
      "output_schema cannot be set together with outputs or inherited_columns: it has all columns of the view",
    );
  }
  if (outputs == null) {
    throw invalidInput("a view of kind chunker needs output_schema, or outputs in udtf_spec");
  }
  return {
    outputs: outputs.map(({ column, data_type }) => ({
      name: column,
      dataType: JSON.stringify(data_type),
    })),
    ...(inherited != null && { inherited }),
  };
}
