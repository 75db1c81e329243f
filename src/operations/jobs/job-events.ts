import type { Reply } from "../../api/operation.js";
import type { JobRecord } from "../../jobs/jobs.js";

interface JobEvent {
  millis: number;
  event: string;
  stage: string | null;
  completed: number | null;
  total: number | null;
  message: string | null;
}

/** What a job's record tells of its course, oldest first: when it was queued, how far it is or how it ended. */
function eventsOf(job: JobRecord): JobEvent[] {
  const none = { stage: null, completed: null, total: null, message: null };
  const queued: JobEvent = { ...none, millis: job.createdMillis, event: "QUEUED" };
  if (job.state === "QUEUED") {
    return job.paused
      ? [queued, { ...none, millis: job.updatedMillis, event: "PAUSED" }]
      : [queued];
  }
  const { progress } = job;
  const last: JobEvent = {
    millis: job.updatedMillis,
    event: job.state === "RUNNING" ? "IN_PROGRESS" : job.state,
    stage: progress?.stage ?? null,
    completed: progress?.completed ?? null,
    total: progress?.total ?? null,
    message: job.error?.message ?? null,
  };
  return [queued, last];
}

/** The events as an Arrow IPC stream. */
export async function jobEvents(job: JobRecord, limit = Number.POSITIVE_INFINITY): Promise<Reply> {
  // Loaded at first use: it is large, and nothing else of the server needs it.
  const arrow = await import("apache-arrow");
  const events = eventsOf(job).slice(0, limit);
  const column = <T extends import("apache-arrow").DataType>(
    type: T,
    values: readonly (string | number | null)[],
  ) => arrow.vectorFromArray(values, type);
  const table = new arrow.Table({
    job_id: column(
      new arrow.Utf8(),
      events.map(() => job.id),
    ),
    timestamp: column(
      new arrow.TimestampMillisecond(),
      events.map((one) => one.millis),
    ),
    event: column(
      new arrow.Utf8(),
      events.map((one) => one.event),
    ),
    stage: column(
      new arrow.Utf8(),
      events.map((one) => one.stage),
    ),
    completed: column(
      new arrow.Float64(),
      events.map((one) => one.completed),
    ),
    total: column(
      new arrow.Float64(),
      events.map((one) => one.total),
    ),
    message: column(
      new arrow.Utf8(),
      events.map((one) => one.message),
    ),
  });
  return {
    kind: "arrow",
    contentType: "application/vnd.apache.arrow.stream",
    answer: { version: 0, first: Buffer.from(arrow.tableToIPC(table, "stream")), done: true },
  };
}
