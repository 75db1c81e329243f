import { Type } from "@sinclair/typebox";
import { accessTo } from "../../../api/access.js";
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
  summary: "List a table's tags on all branches",
  tag: "Tag",
  params: page,
  body: { kind: "json", schema: page },
  reply: Type.Object({
    tags: mapOf(
      Type.Object({
        branch: Type.Optional(Type.String({ description: "absent: main" })),
        version: count,
        manifestSize: count,
        createdAt: time("creation time of the tag, RFC 3339"),
        updatedAt: time("last update of the tag, RFC 3339"),
        metadata: Type.Optional(stringMap),
      }),
    ),
    page_token: nextPage,
  }),
  access: accessTo("table"),
  uses: ["catalog", "config", "engine"],
  async handle(services, { id, params, payload }) {
    const tags = await onTable(services, id, ({ table }) => table.listTags());
    const listing = listingByName(`tags ${encodePath(id)}`, (tag: TableTag) => tag.name);
    const { items, next } = paginate(listing, tags, readPageRequest(params, payload));
    const entries = items.map((item) => [item.name, tagEntry(item)]);
    return {
      kind: "json",
      value: { tags: Object.fromEntries(entries), ...nextPageToken(next) },
    };
  },
});

const tagEntry = (tag: TableTag) => ({
  branch: tag.branch,
  version: tag.version,
  manifestSize: tag.manifestSize,
  createdAt: isoTime(tag.createdAtMillis),
  updatedAt: isoTime(tag.updatedAtMillis),
  metadata: tag.metadata,
});

const isoTime = (millis: number | undefined): string | undefined =>
  millis === undefined ? undefined : new Date(millis).toISOString();
