import { sql, type Updateable } from "kysely";
import type { NamespacePath, Page, PageRequest } from "../catalog/catalog.js";
import type { FullyVisible } from "../catalog/grants/visible-objects.js";
import { jobsOfTable, recordJobOutcomes } from "../catalog/tables/job-outcomes.js";
import type { ClusterMembers } from "../cluster/members.js";
import type { CatalogDatabase, Write } from "../database/database.js";
import type { JobsRow } from "../database/schema.js";
import { available, violation } from "../database/sql-error.js";
import { ErrorCode } from "../foundation/errors.js";
import { deleteExpiredJobs } from "./history.js";
import {
  type JobCount,
  type JobErrors,
  type JobOutcome,
  type JobProgress,
  type JobRecord,
  type JobRequest,
  type ListedJob,
  VERSION_CLEAN_UP,
} from "./jobs.js";
import { countJobs, findJob, jobErrors, listJobs, newestJobs } from "./listings.js";
import { queueJob } from "./queueing.js";
import { ACTIVE, ENDED, jobRecord } from "./record.js";

/** Time between two deletions of expired jobs, ms. */
const PRUNE_INTERVAL = 60_000;
const MAX_ATTEMPTS = 3;

/** The rows of jobs. Each change of state is one statement, so that no two servers own a job at the same time. */
export class JobStore {
  #lastQueued = 0;
  #lastPruned = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly db: CatalogDatabase,
    private readonly members: ClusterMembers,
  ) {}

  /** See `Jobs.enqueue`. */
  enqueue(request: JobRequest): Promise<JobRecord> {
    // Jobs of one millisecond keep their order.
    this.#lastQueued = Math.max(Date.now(), this.#lastQueued + 1);
    const now = this.#lastQueued;
    return this.db.write((t) => queueJob(t, request, now));
  }

  /** The newest job of each name, oldest first. */
  list(table: string): Promise<JobRecord[]> {
    return newestJobs(this.db, table);
  }

  find(id: string): Promise<JobRecord | undefined> {
    return findJob(this.db, id);
  }

  /** The row errors of a table's jobs, or of one of them, newest job first. */
  errors(table: string, job?: string): Promise<JobErrors[]> {
    return jobErrors(this.db, table, job);
  }

  /** All jobs, newest first, with the identifiers of their tables. */
  listAll(
    page: PageRequest,
    visible?: FullyVisible,
    within?: NamespacePath,
  ): Promise<Page<ListedJob>> {
    return listJobs(this.db, page, visible, within);
  }

  counts(): Promise<JobCount[]> {
    return countJobs(this.db);
  }

  /**
   * Claims the job of these kinds that has waited longest and may run now: a table has at most one running job,
   * and beside it one version clean-up.
   *
   * @param busy jobs that still run on this server, whatever their state in the catalog
   */
  async claim(
    busy: readonly Pick<JobRecord, "table" | "kind">[],
    kinds?: readonly string[],
  ): Promise<JobRecord | undefined> {
    const now = Date.now();
    const claimed = this.db.write(async (t) => {
      const next = await t
        .selectFrom("jobs")
        .select("id")
        .where("state", "=", "QUEUED")
        .where("paused", "=", 0)
        .$if(kinds !== undefined, (query) => query.where("kind", "in", kinds ?? []))
        .where((e) =>
          e.not(
            e.exists(
              e
                .selectFrom("jobs as other")
                .select("other.id")
                .where("other.state", "=", "RUNNING")
                .whereRef("other.table_key", "=", "jobs.table_key")
                .where(
                  sql<boolean>`(other.kind = ${VERSION_CLEAN_UP}) = (jobs.kind = ${VERSION_CLEAN_UP})`,
                ),
            ),
          ),
        )
        .where((e) => {
          const isBeside = ({ table, kind }: (typeof busy)[number]) =>
            e.or([
              e("table_key", "<>", table),
              e("kind", kind === VERSION_CLEAN_UP ? "<>" : "=", VERSION_CLEAN_UP),
            ]);
          return e.and(busy.map(isBeside));
        })
        .orderBy("created_at")
        .orderBy("id")
        .limit(1)
        .$if(this.db.kind === "postgres", (query) => query.forUpdate().skipLocked())
        .executeTakeFirst();
      if (!next) return undefined;
      const row = await t
        .updateTable("jobs")
        .set((e) => ({
          state: "RUNNING",
          owner: this.members.self,
          attempts: e("attempts", "+", 1),
          progress: null,
          updated_at: now,
        }))
        .where("id", "=", next.id)
        .where("state", "=", "QUEUED")
        .where("paused", "=", 0)
        .returningAll()
        .executeTakeFirst();
      return row && jobRecord(row);
    });
    return claimed.catch((error) => {
      // Another server has just started a job on the same table.
      if (violation(error) === "unique") return undefined;
      throw error;
    });
  }

  /** Returns false when this server no longer owns the job. */
  async progress(id: string, progress: JobProgress): Promise<boolean> {
    return this.#change(id, { progress: JSON.stringify(progress) });
  }

  /** Also ends a job that was paused after its work was complete. */
  async done(id: string, { result, errors }: JobOutcome = {}): Promise<boolean> {
    const { numUpdatedRows } = await this.db.write((t) =>
      t
        .updateTable("jobs")
        .set({
          state: "DONE",
          owner: null,
          paused: 0,
          result: result ? JSON.stringify(result) : null,
          errors: errors ? JSON.stringify(errors) : null,
          updated_at: Date.now(),
        })
        .where("id", "=", id)
        .where((e) =>
          e.or([
            e.and([e("state", "=", "RUNNING"), e("owner", "=", this.members.self)]),
            e.and([e("state", "=", "QUEUED"), e("paused", "=", 1)]),
          ]),
        )
        .executeTakeFirst(),
    );
    return numUpdatedRows > 0n;
  }

  async failed(id: string, code: number, message: string): Promise<boolean> {
    return this.#change(id, {
      state: "FAILED",
      owner: null,
      error_code: code,
      error_message: message,
    });
  }

  /** Queues the job again as if it had not been started. Returns false when this server no longer owns it. */
  async requeue(id: string): Promise<boolean> {
    return this.#change(id, { state: "QUEUED", owner: null, progress: null, attempts: 0 });
  }

  /** Returns the jobs that this server owns. */
  async ownedJobs(): Promise<Set<string>> {
    const query = this.db.read
      .selectFrom("jobs")
      .select("id")
      .where("state", "=", "RUNNING")
      .where("owner", "=", this.members.self);
    return new Set((await available(query.execute())).map((row) => row.id));
  }

  /** Whether this server owns the job. If so, it still does when the transaction commits. */
  async lockOwned(t: Write, id: string): Promise<boolean> {
    const row = await t
      .selectFrom("jobs")
      .select("id")
      .where("id", "=", id)
      .where("state", "=", "RUNNING")
      .where("owner", "=", this.members.self)
      .$if(this.db.kind === "postgres", (query) => query.forUpdate())
      .executeTakeFirst();
    return row !== undefined;
  }

  async cancel(where: { id: string } | { table: string; name?: string }): Promise<void> {
    await this.db.write((t) => {
      const query = t
        .updateTable("jobs")
        .set({ state: "CANCELLED", owner: null, updated_at: Date.now() })
        .where("state", "in", ACTIVE);
      if ("id" in where) return query.where("id", "=", where.id).execute();
      const ofTable = query.where("table_key", "=", where.table);
      const { name } = where;
      return (name === undefined ? ofTable : ofTable.where("name", "=", name)).execute();
    });
  }

  async forget(table: string, name: string): Promise<void> {
    await this.db.write(async (t) => {
      await recordJobOutcomes(t, jobsOfTable(t, table, name));
      await t
        .deleteFrom("jobs")
        .where("table_key", "=", table)
        .where("name", "=", name)
        .where("state", "in", ENDED)
        .execute();
    });
  }

  /** Pauses or resumes a job. Returns false when it has ended. */
  async pause(id: string, paused: boolean): Promise<boolean> {
    const { numUpdatedRows } = await this.db.write((t) =>
      t
        .updateTable("jobs")
        .set({
          paused: paused ? 1 : 0,
          updated_at: Date.now(),
          ...(paused && { state: "QUEUED", owner: null, progress: null, attempts: 0 }),
        })
        .where("id", "=", id)
        .where("state", "in", ACTIVE)
        .executeTakeFirst(),
    );
    return numUpdatedRows > 0n;
  }

  /**
   * Queues the jobs of dead servers again. Fails jobs whose server died three times: they may be the cause. Deletes
   * expired jobs from time to time.
   */
  async recover(): Promise<void> {
    const now = Date.now();
    const isPruneDue = now - this.#lastPruned >= PRUNE_INTERVAL;
    if (isPruneDue) this.#lastPruned = now;
    await this.db.write(async (t) => {
      await t
        .updateTable("jobs")
        .set({
          state: "FAILED",
          owner: null,
          error_code: ErrorCode.Internal,
          error_message: `the server stopped ${MAX_ATTEMPTS} times while this job ran`,
          updated_at: now,
        })
        .where("state", "=", "RUNNING")
        .where("attempts", ">=", MAX_ATTEMPTS)
        .where("owner", "not in", this.members.alive())
        .execute();
      await t
        .updateTable("jobs")
        .set({ state: "QUEUED", owner: null, progress: null, updated_at: now })
        .where("state", "=", "RUNNING")
        .where("owner", "not in", this.members.alive())
        .execute();
      if (isPruneDue) await deleteExpiredJobs(t, now);
    });
  }

  async #change(id: string, values: Updateable<JobsRow>): Promise<boolean> {
    const { numUpdatedRows } = await this.db.write((t) =>
      t
        .updateTable("jobs")
        .set({ ...values, updated_at: Date.now() })
        .where("id", "=", id)
        .where("state", "=", "RUNNING")
        .where("owner", "=", this.members.self)
        .executeTakeFirst(),
    );
    return numUpdatedRows > 0n;
  }
}
