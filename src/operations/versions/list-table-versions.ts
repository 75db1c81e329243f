import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nextPageToken, paginate, readPageRequest } from "../../api/paging.js";
import { branch, nextPage, page } from "../../api/schemas.js";
import { encodePath } from "../../catalog/path.js";
import type { TableVersion } from "../../engine/index.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, onBranch } from "../../tables/target.js";
import { tableVersion, versionEntry } from "./version-entry.js";

const listingRequest = Type.Composite([
  Type.Object({
    branch,
    descending: Type.Optional(Type.Boolean({ description: "newest first; default: oldest first" })),
  }),
  page,
]);

export const listTableVersions = operation({
  id: "ListTableVersions",
  methods: ["POST"],
  path: "/v1/table/{id}/version/list",
  summary: "List a table's versions",
  tag: "Version",
  params: listingRequest,
  body: { kind: "json", schema: listingRequest },
  reply: Type.Object({ versions: Type.Array(tableVersion), page_token: nextPage }),
  access: accessTo("table"),
  uses: ["catalog", "config", "engine"],
  async handle(services, { id, params, payload }) {
    const { branch, descending = false } = { ...params, ...payload };
    const versions = await onTable(services, id, ({ table }) =>
      onBranch(table, branch).listVersions(),
    );
    if (descending) versions.reverse();
    const listing = {
      name: `versions ${descending} ${branchName(branch) ?? ""} ${encodePath(id)}`,
      key: (item: TableVersion) => String(item.version),
      isKey: (key: string) => /^\d+$/.test(key),
      isAfter: (item: TableVersion, key: string) =>
        descending ? item.version < Number(key) : item.version > Number(key),
    };
    const { items, next } = paginate(listing, versions, readPageRequest(params, payload));
    return { kind: "json", value: { versions: items.map(versionEntry), ...nextPageToken(next) } };
  },
});
