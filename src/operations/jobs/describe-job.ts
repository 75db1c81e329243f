import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { ErrorCode } from "../../foundation/errors.js";
import type { JobRecord } from "../../jobs/jobs.js";
import { specOf } from "../indexes/index-entries.js";
import { jobOperation, jobReference, jobState, millis } from "./job-schemas.js";
import { reportedState } from "./job-state.js";

/** The codes of failures that a retry may not meet. */
const transientCodes: ReadonlySet<number> = new Set([
  ErrorCode.ConcurrentModification,
  ErrorCode.ServiceUnavailable,
  ErrorCode.Internal,
  ErrorCode.Throttling,
]);

/**
 * Lance builds the graph of a partition in one step that cannot be cancelled. A cancelled build stores nothing, but the
 * steps that have started run until their graphs are complete.
 */
const leavesSteps = (job: JobRecord): boolean =>
  job.kind === "index_build" &&
  job.state === "CANCELLED" &&
  job.progress !== undefined &&
  specOf(job).index_type.startsWith("IVF_HNSW");

const stepsWarning =
  "the index build was cancelled; graph builds that already started continue in low-priority threads " +
  "until they are complete, and the server discards the results";

const jobDescription = (job: JobRecord) => ({
  job_id: job.id,
  job_type: job.kind,
  job_state: reportedState(job),
  creation_ms: job.createdMillis,
  updated_ms: job.updatedMillis,
  spec: JSON.parse(job.spec) as unknown,
  ...(job.progress && { progress: job.progress }),
  ...(job.state === "DONE" && { result: job.result ?? {} }),
  ...(leavesSteps(job) && { warning: stepsWarning }),
  ...(job.error && {
    failure: {
      phase: job.progress?.stage ?? "start",
      message: job.error.message,
      retryable: transientCodes.has(job.error.code),
    },
  }),
});

export const describeJob = operation({
  ...jobOperation,
  id: "DescribeJob",
  path: "/v1/jobs/describe",
  summary: "Describe a job: its spec, its progress, its result or error",
  body: { kind: "json", schema: jobReference },
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
    warning: Type.Optional(Type.String({ description: "work of a cancelled job that still runs" })),
    failure: Type.Optional(
      Type.Object({ phase: Type.String(), message: Type.String(), retryable: Type.Boolean() }),
    ),
  }),
  access: accessTo("job table"),
  uses: ["jobs"],
  async handle({ jobs }, { payload }) {
    return { kind: "json", value: jobDescription(await jobs.describe(payload.job_id)) };
  },
});
