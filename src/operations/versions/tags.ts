import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { byName, pageOf } from "../../api/page-of.js";
import { nextPageToken, pageRequest } from "../../api/paging.js";
import {
  branch,
  count,
  mapOf,
  nextPage,
  nothing,
  page,
  stringMap,
  transactionId,
} from "../../api/schemas.js";
import { encodePath } from "../../catalog/path.js";
import type { TableTag } from "../../engine/index.js";
import { onTable } from "../../tables/open-table.js";
import { changingReferences } from "../../tables/table-writes.js";
import { checkVersion, onBranch, versionHeader } from "../../tables/target.js";

const tag = Type.String({ minLength: 1, description: "name of the tag" });
const time = (description: string) => Type.Optional(Type.String({ description }));

const listTableTags = operation({
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
  async handle(services, { id, params, payload }) {
    const tags = await onTable(services, id, ({ table }) => table.listTags());
    const listing = byName(`tags ${encodePath(id)}`, (one: TableTag) => one.name);
    const { items, next } = pageOf(listing, tags, pageRequest(params, payload));
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

const getTableTagVersion = operation({
  id: "GetTableTagVersion",
  methods: ["POST"],
  path: "/v1/table/{id}/tags/version",
  summary: "Tell which version a tag names",
  tag: "Tag",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ tag }) },
  reply: Type.Object({ version: count, branch: Type.Optional(Type.String()) }),
  permission: "read",
  async handle(services, { id, payload }) {
    const found = await onTable(services, id, ({ table }) => table.tag(payload.tag));
    const { version, branch } = found;
    return { kind: "json", value: { version, branch }, headers: versionHeader(version) };
  },
});

const placed = {
  methods: ["POST"],
  tag: "Tag",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ tag, version: count, branch }) },
  reply: Type.Object({ transaction_id: transactionId }),
  permission: "write",
} as const;

const createTableTag = operation({
  ...placed,
  id: "CreateTableTag",
  path: "/v1/table/{id}/tags/create",
  summary: "Name a version of a table",
  async handle(services, { id, payload }) {
    const version = checkVersion(payload.version);
    await changingReferences(services, id, ({ table }) =>
      onBranch(table, payload.branch).createTag(payload.tag, version),
    );
    return { kind: "json", value: {} };
  },
});

const updateTableTag = operation({
  ...placed,
  id: "UpdateTableTag",
  path: "/v1/table/{id}/tags/update",
  summary: "Move a tag to another version",
  async handle(services, { id, payload }) {
    const version = checkVersion(payload.version);
    await changingReferences(services, id, ({ table }) =>
      onBranch(table, payload.branch).updateTag(payload.tag, version),
    );
    return { kind: "json", value: {} };
  },
});

const deleteTableTag = operation({
  id: "DeleteTableTag",
  methods: ["POST"],
  path: "/v1/table/{id}/tags/delete",
  summary: "Delete a tag; the version it names stays",
  tag: "Tag",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ tag }) },
  reply: Type.Object({ transaction_id: transactionId }),
  permission: "write",
  async handle(services, { id, payload }) {
    await changingReferences(services, id, ({ table }) => table.deleteTag(payload.tag));
    return { kind: "json", value: {} };
  },
});

export const tags = [
  listTableTags,
  getTableTagVersion,
  createTableTag,
  updateTableTag,
  deleteTableTag,
];
