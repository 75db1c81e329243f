import { randomUUID } from "node:crypto";
import type { Insertable, Selectable } from "kysely";
import type { Write } from "../database/database.js";
import type { JobsRow } from "../database/schema.js";
import { violation } from "../database/sql-error.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { forgetOlder } from "./history.js";
import type { JobRecord, JobRequest, JobState } from "./jobs.js";
import { ACTIVE, jobRecord } from "./record.js";

/**
 * Queues a job at `now`, ms since the epoch, or gives the one that does the same already.
 *
 * @throws code 7 when one of that name does something else, code 4 when the table is gone
 */
export async function queueJob(
  t: Write,
  { kind, table, name, spec, kept, afresh }: JobRequest,
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
  // One job of a name is active, and one of a table runs: a second name is enough for one that waits.
  const names = afresh ? [name, `${name}:next`] : [name];
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
  const isWanted = (job?: Selectable<JobsRow>) => job?.kind === kind && job.spec === spec;
  for (const free of names) {
    // At each step: another server may have queued it just now.
    const waiting = afresh ? await newest(["QUEUED"]) : undefined;
    if (waiting && isWanted(waiting)) return jobRecord(waiting);
    const queued = await insertJob(t, { ...job, name: free });
    if (!queued) continue;
    if (kept !== undefined) await forgetOlder(t, table, free, kept);
    return jobRecord(queued);
  }
  const active = await newest(afresh ? ["QUEUED"] : ACTIVE);
  if (active && isWanted(active)) return jobRecord(active);
  throw beingMade(name);
}

/** Undefined when a job of that name is active. @throws code 4 when the table is gone */
const insertJob = (t: Write, job: Insertable<JobsRow>): Promise<Selectable<JobsRow> | undefined> =>
  t
    .insertInto("jobs")
    .values(job)
    .onConflict((c) => c.doNothing())
    .returningAll()
    .executeTakeFirst()
    .catch((error) => {
      throw violation(error) === "foreign-key" ? tableGone() : error;
    });

const beingMade = (name: string): JoustError =>
  new JoustError(
    ErrorCode.TableIndexAlreadyExists,
    `${JSON.stringify(name)} is being made by another job: wait for it, or drop it first`,
  );

const tableGone = (): JoustError =>
  new JoustError(ErrorCode.TableNotFound, "the table was dropped while this request was at work");
