import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { ErrorCode } from "../../foundation/errors.js";
import type { JobRecord } from "../../jobs/jobs.js";
import { specOf } from "../indexes/index-entries.js";
import { jobState, millis, onOne } from "./job-schemas.js";
import { stateOf } from "./job-state.js";

/** Failures that the same job may not meet again. */
const passing: ReadonlySet<number> = new Set([
  ErrorCode.ConcurrentModification,
  ErrorCode.ServiceUnavailable,
  ErrorCode.Internal,
  ErrorCode.Throttling,
]);

/**
 * Lance builds a partition's graph in one step that nothing can end. Of a build that is cancelled nothing
 * is stored, but the steps that have begun go on until the graphs are complete.
 */
const leavesWork = (job: JobRecord): boolean =>
  job.kind === "index_build" &&
  job.state === "CANCELLED" &&
  job.progress !== undefined &&
  specOf(job).index_type.startsWith("IVF_HNSW");

const leftWork =
  "the build was stopped, but the graphs of the partitions that were being built are computed to " +
  "their end; their threads have a low priority, and what they compute is dropped";

const described = (job: JobRecord) => ({
  job_id: job.id,
  job_type: job.kind,
  job_state: stateOf(job),
  creation_ms: job.createdMillis,
  updated_ms: job.updatedMillis,
  spec: JSON.parse(job.spec) as unknown,
  ...(job.progress && { progress: job.progress }),
  ...(job.state === "DONE" && { result: job.result ?? {} }),
  ...(leavesWork(job) && { warning: leftWork }),
  ...(job.error && {
    failure: {
      phase: job.progress?.stage ?? "start",
      message: job.error.message,
      retryable: passing.has(job.error.code),
    },
  }),
});

export const describeJob = operation({
  ...onOne,
  id: "DescribeJob",
  path: "/v1/jobs/describe",
  summary: "Describe a job: what it does, how far it is, why it failed",
  reply: Type.Object({
    job_id: Type.String(),
    job_type: Type.String(),
    job_state: jobState,
    creation_ms: millis,
    updated_ms: millis,
    spec: Type.Unknown(),
    progress: Type.Optional(
      Type.Object({
        stage: Type.String(),
        completed: Type.Number(),
        total: Type.Optional(Type.Number()),
      }),
    ),
    result: Type.Optional(Type.Unknown()),
    warning: Type.Optional(
      Type.String({ description: "what a job that was cancelled leaves at work for a while" }),
    ),
    failure: Type.Optional(
      Type.Object({ phase: Type.String(), message: Type.String(), retryable: Type.Boolean() }),
    ),
  }),
  permission: "read",
  uses: ["jobs"],
  async handle({ jobs }, { payload }) {
    return { kind: "json", value: described(await jobs.describe(payload.job_id)) };
  },
});
