import { pathToFileURL } from "node:url";
import { Type } from "@sinclair/typebox";
import type { TableRecord } from "../catalog/catalog.js";
import { isRemote } from "../catalog/location.js";
import type { TableDescription } from "../engine/index.js";
import { ErrorCode, JoustError } from "../errors.js";
import type { Services } from "../services.js";
import { recall, remember } from "./description-cache.js";
import { openTable, storageOptions, tableHandle } from "./open-table.js";
import { type Dialect, operation, type Reply } from "./operation.js";
import { branch, count, stringMap, version } from "./schemas.js";
import { publicStorageOptions } from "./storage-options.js";
import { readOptions, versionHeader } from "./target.js";

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));
/** Older clients send these in the body, newer ones in the query. */
const flags = {
  with_table_uri: flag("add table_uri, a complete URI of the location"),
  load_detailed_metadata: flag("taken and ignored: every reply is detailed"),
  check_declared: flag("add is_only_declared"),
};

export const describeTable = operation({
  id: "DescribeTable",
  methods: ["POST"],
  path: "/v1/table/{id}/describe",
  summary: "Describe a table: version, schema, location, properties",
  tag: "Table",
  params: Type.Object(flags),
  body: {
    kind: "json",
    schema: Type.Object({
      version,
      tag: Type.Optional(Type.String({ description: "name of the version to describe" })),
      branch,
      ...flags,
      vend_credentials: flag("taken and ignored: credentials never leave the server"),
    }),
  },
  reply: Type.Object({
    table: Type.String(),
    namespace: Type.Array(Type.String()),
    version: count,
    location: Type.String(),
    table_uri: Type.Optional(Type.String()),
    schema: Type.Object({ fields: Type.Array(Type.Unknown()) }),
    storage_options: Type.Optional(stringMap),
    stats: Type.Object({ num_deleted_rows: count, num_fragments: count }),
    metadata: stringMap,
    properties: stringMap,
    is_only_declared: Type.Optional(Type.Boolean()),
  }),
  permission: "read",
  handle(services, call) {
    const options = readOptions(call.payload, call.minTimestampMillis);
    const form: Form = {
      dialect: call.dialect,
      uri: call.payload.with_table_uri ?? call.params.with_table_uri ?? false,
      declared: call.payload.check_declared ?? call.params.check_declared ?? false,
    };
    const latest = options.version === undefined;
    if (latest && options.minTimestampMillis === undefined) {
      const known = knownDescription(services, call.id, form);
      if (known !== undefined) return known;
    }
    return describe(services, call.id, form, options);
  },
});

/** What changes the shape of a description. */
interface Form {
  dialect: Dialect;
  uri: boolean;
  declared: boolean;
}

const formNumber = (form: Form): number =>
  (form.dialect === "lancedb" ? 4 : 0) + (form.uri ? 2 : 0) + (form.declared ? 1 : 0);

/** The description of the latest version without waiting for anything, if it is known. */
function knownDescription(
  services: Services,
  id: readonly string[],
  form: Form,
): Reply | undefined {
  const record = services.catalog.tableSync(id);
  if (record === undefined) return undefined;
  const table = tableHandle(services, record);
  const stamp = table.peek();
  return stamp === null ? undefined : recall(table, record, stamp, formNumber(form));
}

async function describe(
  services: Services,
  id: readonly string[],
  form: Form,
  options: ReturnType<typeof readOptions>,
): Promise<Reply> {
  const { record, table } = await openTable(services, id);
  const description = await table.describe(options);
  const reply: Reply = {
    kind: "encoded",
    text: encode(services, record, description, form),
    headers: versionHeader(description.version),
  };
  if (options.version === undefined) {
    remember(table, record, description.stamp, formNumber(form), reply);
  }
  return reply;
}

/** The engine gives schemas as JSON text; it is put into the reply as it is. */
function encode(
  services: Services,
  record: TableRecord,
  description: TableDescription,
  form: Form,
): string {
  const { location } = record;
  const rest = {
    table: record.id.at(-1),
    namespace: record.id.slice(0, -1),
    version: description.version,
    location,
    ...(form.uri && { table_uri: isRemote(location) ? location : pathToFileURL(location).href }),
    storage_options: publicStorageOptions(storageOptions(services, record)),
    stats: {
      num_deleted_rows: description.numDeletedRows,
      num_fragments: description.numFragments,
    },
    metadata: description.metadata,
    properties: record.properties,
    ...(form.declared && { is_only_declared: false }),
  };
  const schema = form.dialect === "lancedb" ? lanceSchema(description) : description.schema;
  return `{"schema":${schema},${JSON.stringify(rest).slice(1)}`;
}

/** LanceDB SDKs know Lance's type names only. @throws code 0 when a column's type has none */
function lanceSchema({ lanceSchema }: TableDescription): string {
  if (lanceSchema !== undefined) return lanceSchema;
  throw new JoustError(
    ErrorCode.Unsupported,
    "a column of this table has a type that LanceDB SDKs have no name for: use a lance-namespace client",
  );
}

export const tableExists = operation({
  id: "TableExists",
  methods: ["POST"],
  path: "/v1/table/{id}/exists",
  summary: "Tell whether a table, or a version of it, exists: 200 or 404",
  tag: "Table",
  params: Type.Object({}),
  body: { kind: "json", schema: Type.Object({ version }) },
  permission: "read",
  async handle(services, call) {
    const { table } = await openTable(services, call.id);
    const described = await table.describe(readOptions(call.payload, call.minTimestampMillis));
    return { kind: "empty", headers: versionHeader(described.version) };
  },
});
