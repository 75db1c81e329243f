import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { listingByName, nextPageToken, paginate, readPageRequest } from "../../api/paging.js";
import { branch, count, nextPage, page, version } from "../../api/schemas.js";
import { encodePath } from "../../catalog/path.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, onBranch, readOptions } from "../../tables/target.js";
import { buildsOnBranch, type IndexEntry, indexEntries } from "./index-entries.js";

export const listTableIndices = operation({
  id: "ListTableIndices",
  methods: ["POST"],
  path: "/v1/table/{id}/index/list",
  summary: "List a table's indexes and its active index builds",
  tag: "Index",
  params: page,
  body: { kind: "json", schema: Type.Composite([Type.Object({ version, branch }), page]) },
  reply: Type.Object({
    indexes: Type.Array(
      Type.Object({
        index_name: Type.String(),
        index_uuid: Type.String(),
        columns: Type.Array(Type.String()),
        status: Type.String({ description: "Ready, Queued, Building or Failed" }),
        index_type: Type.String(),
        type_url: Type.Optional(Type.String()),
        num_indexed_rows: Type.Optional(count),
        num_unindexed_rows: Type.Optional(count),
        size_bytes: Type.Optional(count),
        num_segments: Type.Optional(count),
        created_at: Type.Optional(Type.String()),
        index_version: Type.Optional(count),
        index_details: Type.Optional(Type.String()),
      }),
    ),
    page_token: nextPage,
  }),
  access: accessTo("table"),
  uses: ["catalog", "config", "engine", "jobs"],
  async handle(services, call) {
    const options = readOptions(call.payload, call.fresh);
    const branch = branchName(call.payload.branch);
    const all = await onTable(services, call.id, async ({ record, table }) => {
      // Jobs first: a build that ends between the two reads is then in both results, not in neither.
      const jobs = options.version === undefined ? await services.jobs.list(record.key) : [];
      const indexes = await onBranch(table, branch).listIndices(options);
      return indexEntries(indexes, buildsOnBranch(jobs, branch));
    });
    const listing = listingByName(
      `indexes ${branch ?? ""} ${encodePath(call.id)}`,
      (entry: IndexEntry) => entry.index_name,
    );
    const { items, next } = paginate(listing, all, readPageRequest(call.params, call.payload));
    return { kind: "json", value: { indexes: items, ...nextPageToken(next) } };
  },
});
