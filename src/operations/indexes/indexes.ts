import { Type } from "@sinclair/typebox";
import { operation, type Reply } from "../../api/operation.js";
import { byName, pageOf } from "../../api/page-of.js";
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
import type { Services } from "../../api/services.js";
import { encodePath } from "../../catalog/path.js";
import type { IndexStats, Table } from "../../engine/index.js";
import { ErrorCode, hasCode, invalidInput, JoustError } from "../../foundation/errors.js";
import type { JobRecord } from "../../jobs/jobs.js";
import { onTable } from "../../tables/open-table.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch, readOptions, versionHeader } from "../../tables/target.js";
import { createTableIndex, createTableScalarIndex } from "./create-index.js";
import { buildsOn, type IndexEntry, indexEntries, isActive, specOf } from "./index-entries.js";
import { buildName } from "./index-request.js";

const listTableIndices = operation({
  id: "ListTableIndices",
  methods: ["POST"],
  path: "/v1/table/{id}/index/list",
  summary: "List a table's indexes, those that are being built included",
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
  permission: "read",
  async handle(services, call) {
    const options = readOptions(call.payload, call.fresh);
    const branch = branchName(call.payload.branch);
    const all = await onTable(services, call.id, async ({ record, table }) => {
      // Jobs first: a build that ends between the two looks is then in both, and not in neither.
      const jobs = options.version === undefined ? await services.jobs.list(record.key) : [];
      const indexes = await onBranch(table, branch).listIndices(options);
      return indexEntries(indexes, buildsOn(jobs, branch));
    });
    const listing = byName(
      `indexes ${branch ?? ""} ${encodePath(call.id)}`,
      (entry: IndexEntry) => entry.index_name,
    );
    const { items, next } = pageOf(listing, all, pageRequest(call.params, call.payload));
    return { kind: "json", value: { indexes: items, ...nextPageToken(next) } };
  },
});

const describeTableIndexStats = operation({
  id: "DescribeTableIndexStats",
  methods: ["POST"],
  path: "/v1/table/{id}/index/{index_name}/stats",
  summary: "Tell how many rows an index covers",
  tag: "Index",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      version,
      branch,
      index_name: Type.Optional(Type.String({ description: "as in the path, or left out" })),
    }),
  },
  reply: Type.Object({
    distance_type: Type.Optional(Type.String()),
    index_type: Type.String(),
    num_indexed_rows: count,
    num_unindexed_rows: count,
    num_indices: count,
  }),
  permission: "read",
  async handle(services, call) {
    const name = call.path.index_name as string;
    checkIndexName(call.payload.index_name, name);
    const options = readOptions(call.payload, call.fresh);
    const branch = branchName(call.payload.branch);
    const stats = await onTable(services, call.id, async (open) => {
      const table = onBranch(open.table, branch);
      const jobs = options.version === undefined ? await services.jobs.list(open.record.key) : [];
      return table.indexStats(name, options).catch((error) => {
        if (!hasCode(error, ErrorCode.TableIndexNotFound)) throw error;
        return statsOfBuild(table, name, buildsOn(jobs, branch), error);
      });
    });
    return {
      kind: "json",
      value: {
        distance_type: stats.distanceType,
        index_type: stats.indexType,
        num_indexed_rows: stats.numIndexedRows,
        num_unindexed_rows: stats.numUnindexedRows,
        num_indices: stats.numIndices,
      },
    };
  },
});

/** @throws code 13 for a body that is about another index than the path */
function checkIndexName(inBody: string | undefined, name: string): void {
  if (inBody === undefined || inBody === name) return;
  throw invalidInput(
    `index_name is ${JSON.stringify(inBody.slice(0, 80))} but the path says ${JSON.stringify(name)}: send the same or leave it out`,
  );
}

/** An index that is being built covers nothing yet. @throws `missing`, or why the build failed */
async function statsOfBuild(
  table: Table,
  name: string,
  builds: readonly JobRecord[],
  missing: unknown,
): Promise<IndexStats> {
  const job = builds.find((build) => specOf(build).name === name);
  if (job?.state === "FAILED") {
    throw new JoustError(
      ErrorCode.TableIndexNotFound,
      `index ${JSON.stringify(name)} does not exist, its build failed: ${job.error?.message}`,
    );
  }
  if (job === undefined || !isActive(job)) throw missing;
  const spec = specOf(job);
  return {
    indexType: spec.index_type,
    ...(spec.distance_type !== undefined && { distanceType: spec.distance_type }),
    numIndexedRows: 0,
    numUnindexedRows: await table.countRows({}),
    numIndices: 0,
  };
}

const dropTableIndex = operation({
  id: "DropTableIndex",
  methods: ["POST"],
  path: "/v1/table/{id}/index/{index_name}/drop",
  summary: "Drop an index; one that is being built is cancelled",
  tag: "Index",
  params: Type.Object({ branch }),
  body: { kind: "json", schema: Type.Object({ branch }) },
  reply: Type.Object({ transaction_id: transactionId }),
  permission: "write",
  handle(services, { id, path, params, payload }) {
    const name = path.index_name as string;
    const branch = branchName(payload.branch ?? params.branch);
    return changingTable(services, id, undefined, ({ record, table }) =>
      drop(services, record.key, onBranch(table, branch), buildName(branch, name), name),
    );
  },
});

/** What is being built goes as well as what is there. */
async function drop(
  services: Services,
  key: string,
  table: Table,
  build: string,
  name: string,
): Promise<Reply> {
  const jobs = await services.jobs.list(key);
  await services.jobs.discard(key, build);
  try {
    const { version } = await table.dropIndex(name);
    return { kind: "json", value: {}, headers: versionHeader(version) };
  } catch (error) {
    const listed = jobs.some(
      (job) => job.name === build && (isActive(job) || job.state === "FAILED"),
    );
    if (listed && hasCode(error, ErrorCode.TableIndexNotFound)) return { kind: "json", value: {} };
    throw error;
  }
}

export const indexes = [
  createTableIndex,
  createTableScalarIndex,
  listTableIndices,
  describeTableIndexStats,
  dropTableIndex,
];
