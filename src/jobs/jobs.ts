import type { Page, PageRequest, TableRecord } from "../catalog/catalog.js";
import type { ErrorCode } from "../foundation/errors.js";

/** The kind of job that runs beside another one of its table: it leaves alone what the other is at work on. */
export const CLEAN_UP = "clean_up";

export type JobState = "QUEUED" | "RUNNING" | "DONE" | "FAILED" | "CANCELLED";

export interface JobProgress {
  /** What is being done, in the engine's words. */
  stage: string;
  completed: number;
  /** Absent when nobody can tell. */
  total?: number;
}

/** Work on a table that goes on after the request that asked for it, and survives a restart. */
export interface JobRecord {
  id: string;
  kind: string;
  /** Key of the table (not its name, which may change). */
  table: string;
  /** What the job makes: an index's name. */
  name: string;
  /** JSON text, as the kind understands it. */
  spec: string;
  state: JobState;
  /** Waits (QUEUED) until it is resumed. */
  paused: boolean;
  progress?: JobProgress;
  /** Why the job failed. */
  error?: { code: ErrorCode; message: string };
  /** What a job that is done came to. */
  result?: object;
  createdMillis: number;
  updatedMillis: number;
}

/** Rows that a job could not do its work on. */
export interface RowErrors {
  column: string;
  /** Version that was read. */
  version: number;
  /** The first of them. */
  rows: { fragment: number; offset: number; message: string }[];
  /** How many there are in each fragment that has some. */
  fragments: { fragment: number; rows: number }[];
}

/** What a job leaves behind when it is done. */
export interface JobOutcome {
  /** For its description. */
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
  /** Identifier that the table has now; only the name of one that was dropped. */
  table: string[];
}

/** Jobs of one kind that are in one state. */
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
   * How many jobs of this table and name that ended before are kept, besides those that transactions
   * tell of. Absent: all, for their time.
   */
  kept?: number;
  /** What it comes to depends on when it begins: one that runs already will not do. */
  afresh?: boolean;
}

/** Jobs as handlers see them. One at a time runs on a table. */
export interface Jobs {
  /**
   * Queues a job. An active job of the same table and name is given back as it is when it has the
   * same spec (clients send again); with another spec that is code 7. Of jobs that are wanted afresh
   * only one that waits is given back; beside one that runs, one more waits for its end.
   */
  enqueue(request: JobRequest): Promise<JobRecord>;
  /** The newest job of each name, oldest first. */
  list(table: string): Promise<JobRecord[]>;
  /** The row errors of a table's jobs (or one of them), newest job first. */
  errors(table: string, job?: string): Promise<JobErrors[]>;
  /** Jobs of all tables, newest first. */
  listAll(page: PageRequest): Promise<Page<ListedJob>>;
  /** How many there are of each kind and state, over all servers. */
  counts(): Promise<JobCount[]>;
  /** How many this server is at. */
  running(): number;
  /** Code 10 when unknown. */
  describe(id: string): Promise<JobRecord>;
  /** Cancels a job that has not ended; gives back what it is then. Code 10 when unknown. */
  cancel(id: string): Promise<JobRecord>;
  /**
   * Stops a job until it is resumed, when it begins anew; harmless when it has ended. Gives back
   * what it is then. Code 10 when unknown.
   */
  pause(id: string): Promise<JobRecord>;
  /** Puts a paused job back into the queue. Code 10 when unknown. */
  resume(id: string): Promise<JobRecord>;
  /** Cancels and forgets what was to make `name`; resolves when nothing here works on it any more. */
  discard(table: string, name: string): Promise<void>;
  /** Cancels all jobs of a table; resolves when nothing here works on it any more. */
  cancelTable(table: string): Promise<void>;
  /** Puts running jobs back into the queue, for the next start. */
  stop(): Promise<void>;
}

/** How jobs of one kind are done. */
export interface JobKind {
  readonly kind: string;
  /** Does the work; rejects soon after `signal` aborts. Doing it twice does no harm. */
  run(work: {
    job: Pick<JobRecord, "id" | "createdMillis">;
    table: TableRecord;
    spec: string;
    signal: AbortSignal;
    onProgress(progress: JobProgress): void;
  }): Promise<JobOutcome>;
}
