import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, count, nothing, version } from "../../api/schemas.js";
import type { IndexStats, Table } from "../../engine/index.js";
import { ErrorCode, hasCode, invalidInput, JoustError } from "../../foundation/errors.js";
import type { JobRecord } from "../../jobs/jobs.js";
import { isActive } from "../../jobs/record.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, onBranch, readOptions } from "../../tables/target.js";
import { buildsOnBranch, specOf } from "./index-entries.js";

export const describeTableIndexStats = operation({
  id: "DescribeTableIndexStats",
  methods: ["POST"],
  path: "/v1/table/{id}/index/{index_name}/stats",
  summary: "Report how many rows an index covers",
  tag: "Index",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      version,
      branch,
      index_name: Type.Optional(Type.String({ description: "same as in the path, or absent" })),
    }),
  },
  reply: Type.Object({
    distance_type: Type.Optional(Type.String()),
    index_type: Type.String(),
    num_indexed_rows: count,
    num_unindexed_rows: count,
    num_indices: count,
  }),
  access: accessTo("table"),
  uses: ["catalog", "config", "engine", "jobs"],
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
        return statsOfBuild(table, name, buildsOnBranch(jobs, branch), error);
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

/** @throws code 13 if the body names another index than the path */
function checkIndexName(inBody: string | undefined, name: string): void {
  if (inBody === undefined || inBody === name) return;
  throw invalidInput(
    `index_name is ${JSON.stringify(inBody.slice(0, 80))} but the path has ${JSON.stringify(name)}: send the same name or leave it out`,
  );
}

/** The statistics of an index whose build is active: it covers no rows. @throws `missing`, or the cause of a failed build */
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
      `index ${JSON.stringify(name)} does not exist because its build failed: ${job.error?.message}`,
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
