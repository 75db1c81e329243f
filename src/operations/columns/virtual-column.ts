/**
 * Virtual columns: a Python function computes their values. The server stores the declaration in the field's metadata,
 * where clients look for it, and the function in a file of the table. Backfills run it in processes of their own.
 */
import { type Static, Type } from "@sinclair/typebox";
import { stringMap } from "../../api/schemas.js";
import type { NewColumn, Table } from "../../engine/index.js";
import { fromBase64 } from "../../foundation/base64.js";
import { invalidInput } from "../../foundation/errors.js";
import { checkManifest, dataType, pythonSource, sha256, sourcePayload } from "./python-function.js";

const maybe = <T extends ReturnType<typeof Type.Unsafe>>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));
const text = (description: string) =>
  Type.Optional(Type.Union([Type.String({ description }), Type.Null()]));

const output = Type.Object({
  column: Type.String({ minLength: 1 }),
  struct_field: Type.Optional(Type.String({ description: "field of the function's struct" })),
  data_type: dataType,
  nullable: Type.Optional(Type.Boolean()),
  metadata: Type.Optional(stringMap),
});

/** Members that describe the function. */
const functionMembers = {
  image: text("container image of the function"),
  udf_version: text("version of the function"),
  udf_backend: text("packaging of the function"),
  auto_backfill: maybe(Type.Boolean()),
  manifest: text("environment of the function, JSON"),
  manifest_checksum: text("SHA-256 of the manifest, hex"),
  field_metadata: maybe(stringMap),
  udf: text("the function of a LanceDB client, base64; needs udf_name"),
  udf_name: text("name of the function"),
  python: Type.Optional(
    Type.Union([pythonSource, Type.Null()], {
      description: "the function as source, in place of udf",
    }),
  ),
};

export const virtualColumn = Type.Object({
  ...functionMembers,
  input_columns: Type.Array(Type.String({ minLength: 1 }), {
    description: "field paths, in the order of the function's parameters",
  }),
  outputs: maybe(Type.Array(output, { minItems: 1 })),
  data_type: maybe(dataType),
});

export const virtualColumnChange = Type.Object({
  ...functionMembers,
  input_columns: maybe(Type.Array(Type.String({ minLength: 1 }))),
});

type Change = Static<typeof virtualColumnChange>;

const KEY = "virtual_column";
/** `udf_backend` of a function that came as source. */
const SOURCE_BACKEND = "PythonSource";

/** Whether a key of a field's metadata belongs to the declaration of a virtual column. */
export const declaresFunction = (key: string): boolean => key === KEY || key.startsWith(`${KEY}.`);

/** The columns that a declaration adds: one, or one for each output. */
export async function planVirtualColumn(
  table: Table,
  name: string,
  column: Static<typeof virtualColumn>,
): Promise<NewColumn[]> {
  if (column.python == null && !(column.udf && column.udf_name)) {
    throw invalidInput(
      `virtual column ${JSON.stringify(name)} needs python, or udf and udf_name: they define its function`,
    );
  }
  const outputs = column.outputs ?? [];
  // Exactly one of the two.
  if (outputs.length > 0 === (column.data_type != null)) {
    throw invalidInput(`virtual column ${JSON.stringify(name)} needs outputs or a data_type`);
  }
  if (outputs.some((output) => output.nullable === false)) {
    throw invalidInput(
      "the values of a virtual column are null until a backfill: its outputs must be nullable",
    );
  }
  const shared = { [KEY]: "true", ...(await virtualColumnMetadata(table, column)) };
  if (column.data_type != null) {
    return [
      {
        name,
        dataType: JSON.stringify(column.data_type),
        inputs: column.input_columns,
        metadata: { ...column.field_metadata, ...shared },
      },
    ];
  }
  return outputs.map(({ column: output, struct_field, data_type, metadata }) => ({
    name: output,
    dataType: JSON.stringify(data_type),
    inputs: column.input_columns,
    metadata: {
      ...column.field_metadata,
      ...metadata,
      ...shared,
      ...(struct_field !== undefined && { [`${KEY}.struct_field`]: struct_field }),
    },
  }));
}

/** The metadata of a declaration. The function itself is stored in a file of the table. */
export async function virtualColumnMetadata(
  table: Table,
  column: Change,
): Promise<Record<string, string>> {
  checkManifest(column);
  const members = {
    ...(await functionMetadata(table, column)),
    udf_version: column.udf_version,
    udf_inputs: column.input_columns == null ? undefined : JSON.stringify(column.input_columns),
    image: column.image,
    auto_backfill: column.auto_backfill?.toString(),
    manifest: column.manifest,
    manifest_checksum: column.manifest == null ? undefined : sha256(column.manifest),
  };
  const set = Object.entries(members).filter(([, value]) => value != null);
  return Object.fromEntries(set.map(([member, value]) => [`${KEY}.${member}`, value as string]));
}

/** The metadata that describes the former function, if a change replaces it. */
export function ofFormerFunction({ python, udf }: Change): string[] {
  const members = [];
  if (python != null || udf != null) members.push("udf_version");
  if (python != null) members.push("image", "manifest", "manifest_checksum");
  return members.map((member) => `${KEY}.${member}`);
}

async function functionMetadata(table: Table, { python, ...column }: Change) {
  if (python == null) {
    return {
      udf: column.udf == null ? undefined : await storeFunction(table, column.udf),
      udf_name: column.udf_name,
      udf_backend: column.udf_backend,
    };
  }
  if (column.udf != null || column.udf_name != null || column.udf_backend != null) {
    throw invalidInput("python cannot be set together with udf, udf_name or udf_backend");
  }
  const payload = sourcePayload(python);
  return {
    udf: await table.keepFunction(sha256(payload), payload),
    udf_name: python.entry,
    udf_backend: SOURCE_BACKEND,
  };
}

async function storeFunction(table: Table, udf: string): Promise<string> {
  const payload = fromBase64("udf", udf);
  checkEnvelope(payload);
  return table.keepFunction(sha256(payload), payload);
}

/** If the payload is a JSON envelope with a pickle and a checksum, the two must match. */
function checkEnvelope(payload: Buffer): void {
  let envelope: { udf_pickle?: unknown; udf_checksum?: unknown } | null;
  try {
    envelope = JSON.parse(payload.toString());
  } catch {
    return;
  }
  const { udf_pickle, udf_checksum } = envelope ?? {};
  if (typeof udf_pickle !== "string" || typeof udf_checksum !== "string") return;
  const pickle = fromBase64("udf_pickle", udf_pickle);
  if (![sha256(pickle), sha256(udf_pickle)].includes(udf_checksum.toLowerCase())) {
    throw invalidInput("udf_checksum is not the SHA-256 of udf_pickle");
  }
}
