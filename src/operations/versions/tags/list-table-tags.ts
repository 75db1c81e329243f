import { Type } from "@sinclair/typebox";
import { operation } from "../../../api/operation.js";
import { listingByName, nextPageToken, paginate, readPageRequest } from "../../../api/paging.js";
import { count, mapOf, nextPage, page, stringMap } from "../../../api/schemas.js";
import { encodePath } from "../../../catalog/path.js";
import type { TableTag } from "../../../engine/index.js";
import { onTable } from "../../../tables/open-table.js";

const time = (description: string) => Type.Optional(Type.String({ description }));

export const listTableTags = operation({
  id: "ListTableTags",
  methods: ["GET", "POST"],
  path: "/v1/table/{id}/tags/list",
  summary: "List a table's tags, whatever branch they are on",
  tag: "Tag",
  params: page,
  body: { kind: "json", schema: page },
  reply: Type.Object({
    tags: mapOf(
      Type.Object({
        branch: Type.Optional(Type.String({ description: "absent: the main branch" })),
        version: count,
        manifestSize: count,
        createdAt: time("when the tag was made, RFC 3339"),
        updatedAt: time("when the tag was last moved, RFC 3339"),
        metadata: Type.Optional(stringMap),
      }),
    ),
    page_token: nextPage,
  }),
  permission: "read",
  uses: ["catalog", "config", "engine"],
  async handle(services, { id, params, payload }) {
    const tags = await onTable(services, id, ({ table }) => table.listTags());
    const listing = listingByName(`tags ${encodePath(id)}`, (one: TableTag) => one.name);
    const { items, next } = paginate(listing, tags, readPageRequest(params, payload));
    const named = items.map((item) => [item.name, contents(item)]);
    return {
      kind: "json",
      value: { tags: Object.fromEntries(named), ...nextPageToken(next) },
    };
  },
});

const contents = (found: TableTag) => ({
  branch: found.branch,
  version: found.version,
  manifestSize: found.manifestSize,
  createdAt: instant(found.createdAtMillis),
  updatedAt: instant(found.updatedAtMillis),
  metadata: found.metadata,
});

const instant = (millis: number | undefined): string | undefined =>
  millis === undefined ? undefined : new Date(millis).toISOString();
