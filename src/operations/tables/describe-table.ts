import { pathToFileURL } from "node:url";
import { Type } from "@sinclair/typebox";
import { type Dialect, operation, type Reply } from "../../api/operation.js";
import { branch, count, stringMap, version } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import type { TableRecord } from "../../catalog/catalog.js";
import { tableNotFound } from "../../catalog/failures.js";
import type { ReadOptions, TableDescription } from "../../engine/index.js";
import { isRemote } from "../../foundation/addresses.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import {
  isOnlyDeclared,
  onDeclared,
  onTable,
  storageOptions,
  tableHandle,
} from "../../tables/open-table.js";
import type { Freshness } from "../../tables/target.js";
import { branchName, onBranch, readOptions, versionHeader } from "../../tables/target.js";
import { arrowSchema } from "./arrow-schema.js";
import { recall, remember } from "./description-cache.js";
import { managedVersioning } from "./managed-versioning.js";
import { publicStorageOptions } from "./storage-options.js";

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
    version: Type.Optional(count),
    location: Type.String(),
    table_uri: Type.Optional(Type.String()),
    schema: Type.Optional(arrowSchema),
    storage_options: Type.Optional(stringMap),
    stats: Type.Optional(Type.Object({ num_deleted_rows: count, num_fragments: count })),
    metadata: Type.Optional(stringMap),
    properties: stringMap,
    managed_versioning: Type.Optional(Type.Boolean()),
    is_only_declared: Type.Optional(Type.Boolean()),
  }),
  permission: "read",
  handle(services, call) {
    const { version, tag, branch } = call.payload;
    if (tag !== undefined && (version !== undefined || branchName(branch) !== undefined)) {
      throw invalidInput(
        "version and tag, or branch and tag, are both given: a tag names a version and its branch",
      );
    }
    const options = readOptions({ version }, call.fresh);
    const form: Form = {
      dialect: call.dialect,
      uri: call.payload.with_table_uri ?? call.params.with_table_uri ?? false,
      declared: call.payload.check_declared ?? call.params.check_declared ?? false,
    };
    const latest = isLatest(call.payload);
    if (latest && !wantsFresh(call.fresh)) {
      const known = knownDescription(services, call.id, form);
      if (known !== undefined) return known;
    }
    if (latest) return describeLatest(services, call.id, form, options);
    return onTable(services, call.id, async ({ record, table }) => {
      const marked = tag === undefined ? undefined : await table.tag(tag);
      const description = await onBranch(table, marked?.branch ?? branch).describe(
        marked === undefined ? options : { ...options, version: marked.version },
      );
      return describedAs(services, record, description, form);
    });
  },
});

/** What changes the shape of a description. */
interface Form {
  dialect: Dialect;
  uri: boolean;
  declared: boolean;
}

/** Whether a request says how new its answer must be. */
const wantsFresh = ({ minTimestampMillis, minVersion }: Freshness): boolean =>
  minTimestampMillis !== undefined || minVersion !== undefined;

/** Whether a request is about the newest version of the main branch. */
const isLatest = (wanted: { version?: number; tag?: string; branch?: string }): boolean =>
  wanted.version === undefined &&
  wanted.tag === undefined &&
  branchName(wanted.branch) === undefined;

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

/** Of the main branch: that is what is asked for all the time, and kept. */
function describeLatest(
  services: Services,
  id: readonly string[],
  form: Form,
  options: ReadOptions,
): Promise<Reply> {
  return onDeclared(services, id, async ({ record, table }) => {
    if (await isOnlyDeclared(services, { record, table })) {
      return declaredAs(services, record, form);
    }
    const description = await table.describe(options);
    const reply = describedAs(services, record, description, form);
    remember(table, record, description.stamp, formNumber(form), reply);
    return reply;
  });
}

const describedAs = (
  services: Services,
  record: TableRecord,
  description: TableDescription,
  form: Form,
): Reply => ({
  kind: "encoded",
  text: encode(services, record, description, form),
  headers: versionHeader(description.version),
});

/** The engine gives schemas as JSON text; it is put into the reply as it is. */
function encode(
  services: Services,
  record: TableRecord,
  description: TableDescription,
  form: Form,
): string {
  const rest = {
    ...place(services, record, form),
    version: description.version,
    stats: {
      num_deleted_rows: description.numDeletedRows,
      num_fragments: description.numFragments,
    },
    metadata: description.metadata,
    ...(form.declared && { is_only_declared: false }),
  };
  const schema = form.dialect === "lancedb" ? lanceSchema(description) : description.schema;
  return `{"schema":${schema},${JSON.stringify(rest).slice(1)}`;
}

/** A table without a version has no schema. @throws code 4 for LanceDB SDKs, which need one */
function declaredAs(services: Services, record: TableRecord, form: Form): Reply {
  if (form.dialect === "lancedb") throw tableNotFound(record.id);
  return {
    kind: "json",
    value: { ...place(services, record, form), is_only_declared: true },
  };
}

/** What the catalog knows of a table. */
function place(services: Services, record: TableRecord, form: Form): object {
  const { id, location, properties } = record;
  return {
    table: id.at(-1),
    namespace: id.slice(0, -1),
    location,
    ...(form.uri && { table_uri: isRemote(location) ? location : pathToFileURL(location).href }),
    storage_options: publicStorageOptions(storageOptions(services, record)),
    properties,
    ...managedVersioning(record),
  };
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
    const options = readOptions(call.payload, call.fresh);
    return onDeclared(services, call.id, async (open): Promise<Reply> => {
      if (options.version === undefined && (await isOnlyDeclared(services, open))) {
        return { kind: "empty" };
      }
      const { version } = await open.table.describe(options);
      return { kind: "empty", headers: versionHeader(version) };
    });
  },
});
