import type { NamespacePath, Page, PageRequest, TableRecord } from "../catalog/catalog.js";
import type { FullyVisible } from "../catalog/grants/visible-objects.js";
import type { ErrorCode } from "../foundation/errors.js";

/** The only kind of job that runs while another job of the same table runs: it never touches versions in use. */
export const VERSION_CLEAN_UP = "clean_up";

/** Why the signal of a job aborts when its server stops: the job is queued again. */
export const SERVER_STOPS = new Error("the server stops");

export type JobState = "QUEUED" | "RUNNING" | "DONE" | "FAILED" | "CANCELLED";

export interface JobProgress {
  /** The current step, as the engine names it. */
  stage: string;
  completed: number;
  /** Absent when unknown. */
  total?: number;
}

/** Work on a table that continues after its request has ended, and after a restart. */
export interface JobRecord {
  id: string;
  kind: string;
  /** Key of the table: its name may change. */
  table: string;
  /** What the job makes, such as an index. One job of a table and name is active at a time. */
  name: string;
  /** JSON text that the kind defines. */
  spec: string;
  state: JobState;
  /** The job stays QUEUED until it is resumed. */
  paused: boolean;
  progress?: JobProgress;
  /** Why the job failed. */
  error?: { code: ErrorCode; message: string };
  /** Result of a job that is DONE. */
  result?: object;
  createdMillis: number;
  updatedMillis: number;
}

/** Rows that a job failed on. */
export interface RowErrors {
  column: string;
  /** The Python function that failed. Absent: SQL did. */
  function?: { name: string; version?: string };
  /** Version that was read. */
  version: number;
  /** Only the first ones. */
  rows: { fragment: number; offset: number; message: string }[];
  /** Number of failed rows in each fragment that has some. */
  fragments: { fragment: number; rows: number }[];
}

/** What a job that is DONE returns. */
export interface JobOutcome {
  /** Shown in the description of the job. */
  result?: object;
  errors?: RowErrors;
}

/** The row errors of one job. */
export interface JobErrors extends RowErrors {
  job: JobRecord;
}

/** A job in a listing of all jobs. */
export interface ListedJob {
  job: JobRecord;
  /** Current identifier of the table; only its name when the table is dropped. */
  table: string[];
}

/** Number of jobs of one kind and state. */
export interface JobCount {
  kind: string;
  state: JobState;
  count: number;
}

export interface JobRequest {
  kind: string;
  table: string;
  name: string;
  spec: string;
  /**
   * Number of ended jobs of this table and name to keep, besides those that a transaction refers to. Absent: all,
   * until they expire.
   */
  keepEnded?: number;
  /** The job must start after this request: a running job of the same spec does not count. */
  freshRun?: boolean;
}

/** The job queue. One job at a time runs on a table, and beside it a version clean-up. */
export interface Jobs {
  /**
   * Queues a job, or returns the active job of the same table, name and spec: clients repeat requests. With
   * `freshRun`, only a job that still waits is returned; behind a running one another job is queued.
   *
   * @throws code 7 when an active job of the same table and name has another spec
   */
  enqueue(request: JobRequest): Promise<JobRecord>;
  /** The newest job of each name, oldest first. */
  list(table: string): Promise<JobRecord[]>;
  /** The row errors of a table's jobs, or of one job, newest job first. */
  errors(table: string, job?: string): Promise<JobErrors[]>;
  /** Jobs of all tables, or of visible ones, or of those below a namespace, newest first. */
  listAll(
    page: PageRequest,
    visible?: FullyVisible,
    within?: NamespacePath,
  ): Promise<Page<ListedJob>>;
  /** Of all servers. */
  counts(): Promise<JobCount[]>;
  /** Number of jobs that run on this server. */
  running(): number;
  /** @throws code 10 when unknown */
  describe(id: string): Promise<JobRecord>;
  /** Cancels a job unless it has ended, and returns its new state. @throws code 10 when unknown */
  cancel(id: string): Promise<JobRecord>;
  /**
   * Stops a job until it is resumed: it starts anew then. Does nothing when the job has ended. Returns its new state.
   *
   * @throws code 10 when unknown
   */
  pause(id: string): Promise<JobRecord>;
  /** Queues a paused job again. @throws code 10 when unknown */
  resume(id: string): Promise<JobRecord>;
  /**
   * Cancels and deletes the jobs of that name. Resolves to true when none of them runs on this server. Resolves to false
   * when one of them has not ended after 10 s: it is not deleted then.
   */
  discard(table: string, name: string): Promise<boolean>;
  /**
   * Cancels all jobs of a table. Resolves to true when none of them runs on this server, and to false when one of them
   * has not ended after 10 s.
   */
  cancelTable(table: string): Promise<boolean>;
  /** Stops the running jobs and queues them again, for the next start. */
  stop(): Promise<void>;
}

/** A job of a kind, with what it works on. */
export interface JobWork {
  job: Pick<JobRecord, "id" | "createdMillis">;
  table: TableRecord;
  spec: string;
}

/** One run of a job. */
export interface JobRun extends JobWork {
  signal: AbortSignal;
  onProgress(progress: JobProgress): void;
}

/** The implementation of one kind of job. */
export interface JobKind {
  readonly kind: string;
  /** Must reject soon after `signal` aborts. Must be safe to run twice. */
  run(run: JobRun): Promise<JobOutcome>;
  /**
   * Removes what a cancelled job has left for a later run. The job may still run, here or on another server. Absent: it
   * leaves nothing.
   */
  discard?(work: JobWork): Promise<void>;
}
