import { Type } from "@sinclair/typebox";
import { operation, type Reply } from "../../../api/operation.js";
import { branch, count, stringMap, version } from "../../../api/schemas.js";
import type { Services } from "../../../api/services.js";
import type { ReadOptions } from "../../../engine/index.js";
import { invalidInput } from "../../../foundation/errors.js";
import { isOnlyDeclared, onDeclared, onTable, tableHandle } from "../../../tables/open-table.js";
import type { Freshness } from "../../../tables/target.js";
import { branchName, onBranch, readOptions } from "../../../tables/target.js";
import { arrowSchema } from "./arrow-schema.js";
import { recall, remember } from "./description-cache.js";
import { declaredAs, describedAs, type Form, formNumber } from "./table-description.js";

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
  uses: ["catalog", "config", "engine"],
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

/** Whether a request says how new its answer must be. */
const wantsFresh = ({ minTimestampMillis, minVersion }: Freshness): boolean =>
  minTimestampMillis !== undefined || minVersion !== undefined;

/** Whether a request is about the newest version of the main branch. */
const isLatest = (wanted: { version?: number; tag?: string; branch?: string }): boolean =>
  wanted.version === undefined &&
  wanted.tag === undefined &&
  branchName(wanted.branch) === undefined;

/** The description of the latest version without waiting for anything, if it is known. */
function knownDescription(
  services: Pick<Services, "catalog" | "config" | "engine">,
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
  services: Pick<Services, "catalog" | "config" | "engine">,
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
