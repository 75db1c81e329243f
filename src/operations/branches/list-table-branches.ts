import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { listingByName, nextPageToken, paginate, readPageRequest } from "../../api/paging.js";
import { count, mapOf, nextPage, page, stringMap } from "../../api/schemas.js";
import { encodePath } from "../../catalog/path.js";
import type { TableBranch } from "../../engine/index.js";
import { onTable } from "../../tables/open-table.js";

export const listTableBranches = operation({
  id: "ListTableBranches",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/list",
  summary: "List a table's branches except main",
  tag: "Branch",
  params: page,
  body: { kind: "json", schema: page },
  reply: Type.Object({
    branches: mapOf(
      Type.Object({
        parentBranch: Type.Optional(Type.String({ description: "absent: main" })),
        parentVersion: count,
        createAt: Type.Integer({ description: "seconds since the epoch" }),
        manifestSize: count,
        metadata: Type.Optional(stringMap),
      }),
    ),
    page_token: nextPage,
  }),
  access: accessTo("table"),
  uses: ["catalog", "config", "engine"],
  async handle(services, { id, params, payload }) {
    const branches = await onTable(services, id, ({ table }) => table.listBranches());
    const listing = listingByName(
      `branches ${encodePath(id)}`,
      (branch: TableBranch) => branch.name,
    );
    const { items, next } = paginate(listing, branches, readPageRequest(params, payload));
    const entries = items.map((item) => [item.name, branchEntry(item)]);
    return {
      kind: "json",
      value: { branches: Object.fromEntries(entries), ...nextPageToken(next) },
    };
  },
});

const branchEntry = (branch: TableBranch) => ({
  parentBranch: branch.parentBranch,
  parentVersion: branch.parentVersion,
  createAt: branch.createdAtSeconds,
  manifestSize: branch.manifestSize,
  metadata: branch.metadata,
});
