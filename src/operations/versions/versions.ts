import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { pageOf } from "../../api/page-of.js";
import { nextPageToken, pageRequest } from "../../api/paging.js";
import {
  branch,
  count,
  nextPage,
  nothing,
  page,
  transactionId,
  version,
} from "../../api/schemas.js";
import { encodePath } from "../../catalog/path.js";
import type { TableVersion } from "../../engine/index.js";
import { onTable } from "../../tables/open-table.js";
import { changingReferences } from "../../tables/table-writes.js";
import { branchName, checkVersion, onBranch, readOptions } from "../../tables/target.js";
import { tableVersion, versionEntry } from "./version-entry.js";
import { readRanges, versionRanges } from "./version-ranges.js";

const listing = Type.Composite([
  Type.Object({
    branch,
    descending: Type.Optional(Type.Boolean({ description: "newest first; default: oldest first" })),
  }),
  page,
]);

const listTableVersions = operation({
  id: "ListTableVersions",
  methods: ["POST"],
  path: "/v1/table/{id}/version/list",
  summary: "List a table's versions",
  tag: "Version",
  params: listing,
  body: { kind: "json", schema: listing },
  reply: Type.Object({ versions: Type.Array(tableVersion), page_token: nextPage }),
  permission: "read",
  async handle(services, { id, params, payload }) {
    const wanted = { ...params, ...payload };
    const descending = wanted.descending ?? false;
    const versions = await onTable(services, id, ({ table }) =>
      onBranch(table, wanted.branch).listVersions(),
    );
    if (descending) versions.reverse();
    const order = {
      name: `versions ${descending} ${branchName(wanted.branch) ?? ""} ${encodePath(id)}`,
      key: (item: TableVersion) => String(item.version),
      isKey: (key: string) => /^\d+$/.test(key),
      comesAfter: (item: TableVersion, key: string) =>
        descending ? item.version < Number(key) : item.version > Number(key),
    };
    const { items, next } = pageOf(order, versions, pageRequest(params, payload));
    return { kind: "json", value: { versions: items.map(versionEntry), ...nextPageToken(next) } };
  },
});

const describeTableVersion = operation({
  id: "DescribeTableVersion",
  methods: ["POST"],
  path: "/v1/table/{id}/version/describe",
  summary: "Describe one version of a table",
  tag: "Version",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ version, branch }) },
  reply: Type.Object({ version: tableVersion }),
  permission: "read",
  async handle(services, { id, payload, fresh }) {
    const found = await onTable(services, id, async (open) => {
      const table = onBranch(open.table, payload.branch);
      const wanted = payload.version ?? (await table.describe(readOptions({}, fresh))).version;
      return table.describeVersion(checkVersion(wanted));
    });
    return { kind: "json", value: { version: versionEntry(found) } };
  },
});

const batchDeleteTableVersions = operation({
  id: "BatchDeleteTableVersions",
  methods: ["POST"],
  path: "/v1/table/{id}/version/delete",
  summary: "Delete versions that nothing refers to; the newest stays",
  tag: "Version",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      branch,
      ranges: versionRanges,
    }),
  },
  reply: Type.Object({ deleted_count: count, transaction_id: transactionId }),
  permission: "admin",
  async handle(services, { id, payload }) {
    const ranges = readRanges(payload.ranges);
    const deleted = await changingReferences(services, id, ({ table }) =>
      onBranch(table, payload.branch).deleteVersions(ranges),
    );
    return { kind: "json", value: { deleted_count: deleted } };
  },
});

export const versions = [listTableVersions, describeTableVersion, batchDeleteTableVersions];
