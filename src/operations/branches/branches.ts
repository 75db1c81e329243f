import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { byName, pageOf } from "../../api/page-of.js";
import { nextPageToken, pageRequest } from "../../api/paging.js";
import {
  count,
  mapOf,
  nextPage,
  nothing,
  page,
  stringMap,
  transactionId,
} from "../../api/schemas.js";
import { encodePath } from "../../catalog/path.js";
import type { TableBranch } from "../../engine/index.js";
import { onTable } from "../../tables/open-table.js";
import { changingReferences } from "../../tables/table-writes.js";
import { checkVersion, onBranch } from "../../tables/target.js";
import { buildsOn } from "../indexes/index-entries.js";

const name = Type.String({ minLength: 1, description: "name of the branch" });

const listTableBranches = operation({
  id: "ListTableBranches",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/list",
  summary: "List a table's branches, the main one left out",
  tag: "Branch",
  params: page,
  body: { kind: "json", schema: page },
  reply: Type.Object({
    branches: mapOf(
      Type.Object({
        parentBranch: Type.Optional(Type.String({ description: "absent: the main branch" })),
        parentVersion: count,
        createAt: Type.Integer({ description: "seconds since the epoch" }),
        manifestSize: count,
        metadata: Type.Optional(stringMap),
      }),
    ),
    page_token: nextPage,
  }),
  permission: "read",
  async handle(services, { id, params, payload }) {
    const branches = await onTable(services, id, ({ table }) => table.listBranches());
    const listing = byName(`branches ${encodePath(id)}`, (one: TableBranch) => one.name);
    const { items, next } = pageOf(listing, branches, pageRequest(params, payload));
    const named = items.map((item) => [item.name, contents(item)]);
    return {
      kind: "json",
      value: { branches: Object.fromEntries(named), ...nextPageToken(next) },
    };
  },
});

const contents = (found: TableBranch) => ({
  parentBranch: found.parentBranch,
  parentVersion: found.parentVersion,
  createAt: found.createdAtSeconds,
  manifestSize: found.manifestSize,
  metadata: found.metadata,
});

const createTableBranch = operation({
  id: "CreateTableBranch",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/create",
  summary: "Begin a branch at a version of another",
  tag: "Branch",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      name,
      from_branch: Type.Optional(Type.String({ description: "branch to begin on; default: main" })),
      from_version: Type.Optional(
        Type.Integer({ minimum: 0, description: "version to begin at; default: the newest" }),
      ),
    }),
  },
  reply: Type.Object({ transaction_id: transactionId }),
  permission: "write",
  async handle(services, { id, payload }) {
    const { from_branch, from_version } = payload;
    const version = from_version === undefined ? undefined : checkVersion(from_version);
    await changingReferences(services, id, async ({ record, table }) => {
      // Of a branch that had the name before: the server may have stopped while it was deleted.
      const isThere = (await table.listBranches()).some(({ name }) => name === payload.name);
      if (!isThere) await services.multipart.endBranch(record.key, payload.name, Date.now());
      await onBranch(table, from_branch).createBranch(payload.name, version);
    });
    return { kind: "json", value: {} };
  },
});

const deleteTableBranch = operation({
  id: "DeleteTableBranch",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/delete",
  summary: "Delete a branch and what only it holds",
  tag: "Branch",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ name }) },
  reply: Type.Object({ transaction_id: transactionId }),
  permission: "write",
  async handle(services, { id, payload }) {
    await changingReferences(services, id, async ({ record, table }) => {
      // A build would write files of a branch that is no more.
      const builds = buildsOn(await services.jobs.list(record.key), payload.name);
      for (const build of builds) await services.jobs.discard(record.key, build.name);
      await table.deleteBranch(payload.name);
      // Another branch may have the name next: parts of an upload to this one are none of its.
      await services.multipart.endBranch(record.key, payload.name, Date.now());
    });
    return { kind: "json", value: {} };
  },
});

export const branches = [listTableBranches, createTableBranch, deleteTableBranch];
