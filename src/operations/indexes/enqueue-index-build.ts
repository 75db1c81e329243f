import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import type { Reply } from "../../api/operation.js";
import { nothing, transactionId } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { ErrorCode, hasCode, invalidInput } from "../../foundation/errors.js";
import type { JobRecord } from "../../jobs/jobs.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, onBranch } from "../../tables/target.js";
import {
  buildName,
  buildOptions,
  type IndexRequest,
  type IndexSpec,
  indexRequest,
} from "./index-request.js";

/** Members that both create operations have. */
export const indexCreation = {
  methods: ["POST"],
  tag: "Index",
  params: nothing,
  body: { kind: "json", schema: indexRequest },
  reply: Type.Object({ transaction_id: transactionId }),
  access: accessTo("table", "create"),
  limited: ["job", "storage"],
} as const;

/** Plans the build, so that an invalid request fails here and not in the job, and enqueues the job. */
export function enqueueIndexBuild(
  services: Pick<Services, "catalog" | "config" | "engine" | "jobs">,
  id: readonly string[],
  request: IndexRequest,
  kind: "any" | "scalar",
): Promise<Reply> {
  const branch = branchName(request.branch);
  const options = buildOptions(request);
  return onTable(services, id, async ({ record, table }) => {
    const { name, columns, indexType } = await onBranch(table, branch).planIndex(
      JSON.stringify(options),
    );
    if (kind === "scalar" && indexType.startsWith("IVF_")) {
      throw invalidInput(`${indexType} is a vector index: create it with create_index`);
    }
    const spec = {
      ...options,
      ...(branch !== undefined && { branch }),
      name,
      column: columns[0] ?? options.column,
      index_type: indexType,
    };
    const job = await enqueueOrReplace(services, record.key, spec);
    return { kind: "json", value: { transaction_id: job.id } };
  });
}

async function enqueueOrReplace(
  services: Pick<Services, "jobs">,
  table: string,
  spec: IndexSpec,
): Promise<JobRecord> {
  const build = {
    kind: "index_build",
    table,
    name: buildName(spec.branch, spec.name),
    spec: JSON.stringify(spec),
  } as const;
  try {
    return await services.jobs.enqueue(build);
  } catch (error) {
    // Another build of that name is active. A request that replaces an index also replaces its build. The new build waits
    // for the end of the former one.
    if (!spec.replace || !hasCode(error, ErrorCode.TableIndexAlreadyExists)) throw error;
    await services.jobs.discard(table, build.name);
    return services.jobs.enqueue(build);
  }
}
