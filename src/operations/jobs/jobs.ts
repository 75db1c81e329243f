import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nextPageToken, pageRequest } from "../../api/paging.js";
import { nextPage, nothing, page } from "../../api/schemas.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";
import type { JobRecord } from "../../jobs/jobs.js";
import { specOf } from "../indexes/index-entries.js";
import { jobEvents } from "./job-events.js";

const one = Type.Object({ job_id: Type.String({ minLength: 1 }) });
const millis = Type.Integer({ minimum: 0 });

const shared = { methods: ["POST"], tag: "Job", params: nothing } as const;
const onOne = { ...shared, body: { kind: "json", schema: one } } as const;
/** What a job changes is recorded under the request that began it. */
const control = { ...onOne, permission: "admin", unrecorded: true } as const;

const jobState = Type.String({
  description: "QUEUED, PAUSED, IN_PROGRESS, DONE, FAILED, CANCELLED",
});

/** LanceDB's words; what they do not know counts as still at work. */
function stateOf({ state, paused }: JobRecord): string {
  if (state === "RUNNING") return "IN_PROGRESS";
  return state === "QUEUED" && paused ? "PAUSED" : state;
}

const hasEnded = ({ state }: JobRecord): boolean => state !== "QUEUED" && state !== "RUNNING";

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

const describeJob = operation({
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
  async handle({ jobs }, { payload }) {
    return { kind: "json", value: described(await jobs.describe(payload.job_id)) };
  },
});

const listJobs = operation({
  ...shared,
  id: "ListJobs",
  path: "/v1/jobs/list",
  summary: "List the jobs of all tables, newest first",
  body: { kind: "json", schema: page },
  reply: Type.Object({
    jobs: Type.Array(
      Type.Object({
        job_id: Type.String(),
        table: Type.String(),
        job_type: Type.String(),
        state: jobState,
        created_at_millis: millis,
        error: Type.Optional(Type.String({ description: "why it failed" })),
      }),
    ),
    page_token: nextPage,
  }),
  permission: "read",
  async handle({ jobs }, { payload }) {
    const { items, pageToken } = await jobs.listAll(pageRequest({}, payload));
    const entries = items.map(({ job, table }) => ({
      job_id: job.id,
      table: table.join("$"),
      job_type: job.kind,
      state: stateOf(job),
      created_at_millis: job.createdMillis,
      ...(job.error && { error: job.error.message }),
    }));
    return { kind: "json", value: { jobs: entries, ...nextPageToken(pageToken) } };
  },
});

const cancelJob = operation({
  ...control,
  id: "CancelJob",
  path: "/v1/jobs/cancel",
  summary: "Cancel a job; one that has ended stays as it is",
  reply: Type.Object({ job_id: Type.String(), job_state: jobState }),
  async handle({ jobs }, { payload }) {
    const job = await jobs.cancel(payload.job_id);
    return { kind: "json", value: { job_id: job.id, job_state: stateOf(job) } };
  },
});

const pauseJob = operation({
  ...control,
  id: "PauseJob",
  path: "/v1/jobs/pause",
  summary: "Stop a job until it is resumed, when it begins anew",
  reply: Type.Object({ paused: Type.Boolean(), committing: Type.Boolean() }),
  async handle({ jobs }, { payload }) {
    const job = await jobs.pause(payload.job_id);
    // What a job has committed is committed: there is no stage that could not be stopped.
    return { kind: "json", value: { paused: job.paused && !hasEnded(job), committing: false } };
  },
});

const resumeJob = operation({
  ...control,
  id: "ResumeJob",
  path: "/v1/jobs/resume",
  summary: "Put a paused job back into the queue",
  reply: Type.Object({ resumed: Type.Boolean(), still_pausing: Type.Boolean() }),
  async handle({ jobs }, { payload }) {
    const job = await jobs.resume(payload.job_id);
    return { kind: "json", value: { resumed: !hasEnded(job), still_pausing: false } };
  },
});

const queryJobEvents = operation({
  ...shared,
  id: "QueryJobEvents",
  path: "/v1/jobs/query_events",
  summary: "What is known of a job's course, as an Arrow IPC stream",
  body: {
    kind: "json",
    schema: Type.Composite([
      one,
      Type.Object({
        limit: Type.Optional(Type.Integer({ minimum: 1 })),
        filter: Type.Optional(Type.String({ description: "not supported: leave it out" })),
      }),
    ]),
  },
  permission: "read",
  async handle({ jobs }, { payload }) {
    if (payload.filter !== undefined && payload.filter !== "") {
      throw new JoustError(
        ErrorCode.Unsupported,
        "events cannot be filtered by this server: leave `filter` out",
      );
    }
    return jobEvents(await jobs.describe(payload.job_id), payload.limit);
  },
});

export const jobs = [describeJob, listJobs, cancelJob, pauseJob, resumeJob, queryJobEvents];
