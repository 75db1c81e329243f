import { randomUUID } from "node:crypto";
import type { Insertable, Selectable } from "kysely";
import type { Write } from "../database/database.js";
import type { JobsRow } from "../database/schema.js";
import { violation } from "../database/sql-error.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { deleteOlderJobs } from "./history.js";
import type { JobRecord, JobRequest, JobState } from "./jobs.js";
import { ACTIVE, jobRecord } from "./record.js";

/**
 * Queues a job at `now`, ms since the epoch, or returns the active job that does the same.
 *
 * @throws code 7 when an active job of that name does something else, code 4 when the table is dropped
 */
export async function queueJob(
  t: Write,
  { kind, table, name, spec, keepEnded, freshRun }: JobRequest,
  now: number,
): Promise<JobRecord> {
  const job = {
    id: randomUUID(),
    kind,
    table_key: table,
    name,
    spec,
    state: "QUEUED",
    attempts: 0,
    created_at: now,
    updated_at: now,
  } as const;
  // Only one job of a name may be active. A second name allows one that waits behind a running one.
  const names = freshRun ? [name, `${name}:next`] : [name];
  const newest = (states: readonly JobState[]) =>
    t
      .selectFrom("jobs")
      .selectAll()
      .where("table_key", "=", table)
      .where("name", "in", names)
      .where("state", "in", states)
      .orderBy("created_at", "desc")
      .limit(1)
      .executeTakeFirst();
  const isSameWork = (job?: Selectable<JobsRow>) => job?.kind === kind && job.spec === spec;
  for (const candidate of names) {
    // Again for each name: another server may have queued the job meanwhile.
    const waiting = freshRun ? await newest(["QUEUED"]) : undefined;
    if (waiting && isSameWork(waiting)) return jobRecord(waiting);
    const queued = await insertJob(t, { ...job, name: candidate });
    if (!queued) continue;
    if (keepEnded !== undefined) await deleteOlderJobs(t, table, candidate, keepEnded);
    return jobRecord(queued);
  }
  const active = await newest(freshRun ? ["QUEUED"] : ACTIVE);
  if (active && isSameWork(active)) return jobRecord(active);
  throw nameInUse(name);
}

/** Returns undefined when a job of that name is active. @throws code 4 when the table is dropped */
const insertJob = (t: Write, job: Insertable<JobsRow>): Promise<Selectable<JobsRow> | undefined> =>
  t
    .insertInto("jobs")
    .values(job)
    .onConflict((c) => c.doNothing())
    .returningAll()
    .executeTakeFirst()
    .catch((error) => {
      throw violation(error) === "foreign-key" ? tableDropped() : error;
    });

const nameInUse = (name: string): JoustError =>
  new JoustError(
    ErrorCode.TableIndexAlreadyExists,
    `${JSON.stringify(name)} is the name of another active job: wait until it ends, or drop it first`,
  );

const tableDropped = (): JoustError =>
  new JoustError(ErrorCode.TableNotFound, "the table was dropped while this request ran");
