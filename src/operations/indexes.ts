import { Type } from "@sinclair/typebox";
import type { IndexStats } from "../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../errors.js";
import type { JobRecord } from "../jobs/jobs.js";
import { createTableIndex, createTableScalarIndex } from "./create-index.js";
import { hasCode } from "./has-code.js";
import { indexEntries, isActive } from "./index-entries.js";
import type { IndexSpec } from "./index-request.js";
import { type OpenTable, openTable } from "./open-table.js";
import { operation } from "./operation.js";
import { nextPageToken, pageRequest } from "./paging.js";
import { branch, count, nextPage, nothing, page, transactionId, version } from "./schemas.js";
import { onMain, readOptions, versionHeader } from "./target.js";

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
    const options = readOptions(call.payload, call.minTimestampMillis);
    const { limit = Number.POSITIVE_INFINITY, pageToken } = pageRequest(call.params, call.payload);
    const after = pageToken === undefined ? undefined : readToken(pageToken);
    const { record, table } = await openTable(services, call.id);
    // Jobs first: a build that ends between the two looks is then in both, and not in neither.
    const jobs = options.version === undefined ? await services.jobs.list(record.key) : [];
    const all = indexEntries(await table.listIndices(options), jobs);
    const rest = after === undefined ? all : all.filter((entry) => entry.index_name > after);
    const indexes = rest.slice(0, limit);
    const last = indexes.at(-1);
    const next = last && rest.length > indexes.length ? writeToken(last.index_name) : undefined;
    return { kind: "json", value: { indexes, ...nextPageToken(next) } };
  },
});

const writeToken = (name: string): string => Buffer.from(name).toString("base64url");

function readToken(token: string): string {
  const name = Buffer.from(token, "base64url").toString();
  if (writeToken(name) === token) return name;
  throw invalidInput("page_token is not one that a listing of indexes gave out");
}

const describeTableIndexStats = operation({
  id: "DescribeTableIndexStats",
  methods: ["POST"],
  path: "/v1/table/{id}/index/{index_name}/stats",
  summary: "Tell how many rows an index covers",
  tag: "Index",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ version, branch }) },
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
    const options = readOptions(call.payload, call.minTimestampMillis);
    const open = await openTable(services, call.id);
    const jobs = options.version === undefined ? await services.jobs.list(open.record.key) : [];
    const stats = await open.table.indexStats(name, options).catch((error) => {
      if (!hasCode(error, ErrorCode.TableIndexNotFound)) throw error;
      return statsOfBuild(open, name, jobs, error);
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

/** An index that is being built covers nothing yet. @throws `missing`, or why the build failed */
async function statsOfBuild(
  { table }: OpenTable,
  name: string,
  jobs: readonly JobRecord[],
  missing: unknown,
): Promise<IndexStats> {
  const job = jobs.find((one) => one.name === name);
  if (job?.state === "FAILED") {
    throw new JoustError(
      ErrorCode.TableIndexNotFound,
      `index ${JSON.stringify(name)} does not exist, its build failed: ${job.error?.message}`,
    );
  }
  if (job === undefined || !isActive(job)) throw missing;
  const spec = JSON.parse(job.spec) as IndexSpec;
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
  async handle(services, { id, path, params, payload }) {
    const name = path.index_name as string;
    onMain(payload.branch ?? params.branch);
    const { record, table } = await openTable(services, id);
    const jobs = await services.jobs.list(record.key);
    await services.jobs.discard(record.key, name);
    try {
      const { version } = await table.dropIndex(name);
      return { kind: "json", value: {}, headers: versionHeader(version) };
    } catch (error) {
      const hadJob = jobs.some(
        (job) => job.name === name && (isActive(job) || job.state === "FAILED"),
      );
      if (hadJob && hasCode(error, ErrorCode.TableIndexNotFound))
        return { kind: "json", value: {} };
      throw error;
    }
  },
});

export const indexes = [
  createTableIndex,
  createTableScalarIndex,
  listTableIndices,
  describeTableIndexStats,
  dropTableIndex,
];
