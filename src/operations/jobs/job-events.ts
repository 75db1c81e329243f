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

/** The events that follow from a job's record, oldest first: queued, then its progress or its end. */
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
  // Loaded at first use: the package is large, and only this operation needs it.
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
      events.map((event) => event.millis),
    ),
    event: column(
      new arrow.Utf8(),
      events.map(({ event }) => event),
    ),
    stage: column(
      new arrow.Utf8(),
      events.map((event) => event.stage),
    ),
    completed: column(
      new arrow.Float64(),
      events.map((event) => event.completed),
    ),
    total: column(
      new arrow.Float64(),
      events.map((event) => event.total),
    ),
    message: column(
      new arrow.Utf8(),
      events.map((event) => event.message),
    ),
  });
  return {
    kind: "arrow",
    contentType: "application/vnd.apache.arrow.stream",
    answer: { version: 0, first: Buffer.from(arrow.tableToIPC(table, "stream")), done: true },
  };
}
