import { Type } from "@sinclair/typebox";
import { accessTo } from "../../../api/access.js";
import { idBelow } from "../../../api/database.js";
import { operation, type Reply } from "../../../api/operation.js";
import { branch, count, stringMap, version } from "../../../api/schemas.js";
import type { Services } from "../../../api/services.js";
import type { TableRecord } from "../../../catalog/catalog.js";
import type { ReadOptions } from "../../../engine/index.js";
import { invalidInput } from "../../../foundation/errors.js";
import { isOnlyDeclared, onDeclared, onTable, tableHandle } from "../../../tables/open-table.js";
import type { Freshness } from "../../../tables/target.js";
import { branchName, onBranch, readOptions } from "../../../tables/target.js";
import { arrowSchema } from "./arrow-schema.js";
import { readCache, writeCache } from "./description-cache.js";
import { declaredReply, descriptionReply, type Form, formNumber } from "./table-description.js";
import { type VendedOptions, vendedCredentials } from "./vended-credentials.js";

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

/** Older clients send these members in the body, newer ones in the query. */
const flags = {
  with_table_uri: flag("add table_uri, a complete URI of the location"),
  load_detailed_metadata: flag("ignored: every reply has the detailed metadata"),
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
      vend_credentials: flag(
        "add temporary credentials for the files of the table to storage_options, if the server has --vend-role and the caller may read all rows",
      ),
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
  access: { ...accessTo("table"), rows: [] },
  contentNames: {
    reply: (value, database) => ({ ...value, namespace: idBelow(database, value.namespace) }),
  },
  uses: ["catalog", "config", "engine"],
  handle(services, call) {
    const { version, tag, branch } = call.payload;
    if (tag !== undefined && (version !== undefined || branchName(branch) !== undefined)) {
      throw invalidInput(
        "version and tag cannot both be set, nor branch and tag: a tag names a version and its branch",
      );
    }
    const options = readOptions({ version }, call.fresh);
    const form: Form = {
      dialect: call.dialect,
      uri: call.payload.with_table_uri ?? call.params.with_table_uri ?? false,
      declared: call.payload.check_declared ?? call.params.check_declared ?? false,
    };
    const latest = isLatest(call.payload);
    const vends = call.payload.vend_credentials === true && services.config.vending !== undefined;
    if (latest && !vends && !requiresFresh(call.fresh)) {
      const cached = cachedDescription(services, call.id, form);
      if (cached !== undefined) return cached;
    }
    const vended = async (record: TableRecord) =>
      vends ? vendedCredentials(services, call, record) : undefined;
    if (latest) return describeLatest(services, call.id, form, options, vended);
    return onTable(services, call.id, async ({ record, table }) => {
      const tagged = tag === undefined ? undefined : await table.tag(tag);
      const description = await onBranch(table, tagged?.branch ?? branch).describe(
        tagged === undefined ? options : { ...options, version: tagged.version },
      );
      return descriptionReply(services, record, description, form, await vended(record));
    });
  },
});

/** Whether a request limits how old the reported state may be. */
const requiresFresh = ({ minTimestampMillis, minVersion }: Freshness): boolean =>
  minTimestampMillis !== undefined || minVersion !== undefined;

/** Whether a request reads the latest version of main. */
const isLatest = (request: { version?: number; tag?: string; branch?: string }): boolean =>
  request.version === undefined &&
  request.tag === undefined &&
  branchName(request.branch) === undefined;

/** The cached description of the latest version, without a promise; undefined without a valid one. */
function cachedDescription(
  services: Pick<Services, "catalog" | "config" | "engine">,
  id: readonly string[],
  form: Form,
): Reply | undefined {
  const record = services.catalog.tableSync(id);
  if (record === undefined || record.restriction) return undefined;
  const table = tableHandle(services, record);
  const stamp = table.peek();
  return stamp === null ? undefined : readCache(table, record, stamp, formNumber(form));
}

/** Describes the latest version of main and caches the reply: clients request it often. */
function describeLatest(
  services: Pick<Services, "catalog" | "config" | "engine">,
  id: readonly string[],
  form: Form,
  options: ReadOptions,
  vended: (record: TableRecord) => Promise<VendedOptions | undefined>,
): Promise<Reply> {
  return onDeclared(services, id, async ({ record, table }) => {
    if (await isOnlyDeclared(services, { record, table })) {
      return declaredReply(services, record, form);
    }
    const description = await table.describe(options);
    const credentials = await vended(record);
    const reply = descriptionReply(services, record, description, form, credentials);
    if (!record.restriction && !credentials) {
      writeCache(table, record, description.stamp, formNumber(form), reply);
    }
    return reply;
  });
}
