/** The rows of a fragment that a worker has computed. */
export interface ProgressReport {
  readonly fragment: number;
  /** As in the order. */
  readonly key: string;
  readonly rows: number;
}

/** A fragment that a worker has computed: `Part` in joust-core. */
export interface PartReport {
  readonly fragment: number;
  readonly key: string;
  readonly file: string;
  readonly tally: object;
}

/** Work for workers. Without an order they wait. */
export interface RemoteOrderReply {
  readonly order_id?: string;
  /** Absent if the workers know it. */
  readonly order?: object;
}

/**
 * What workers ask of the server, with the token of their job.
 *
 * @throws code 16 for a token of another job or of one that has ended; code 17 while the job does not run on this server
 */
export interface WorkerCalls {
  /** Replaces the token of a new job, which every user of the Ray cluster can read. @throws code 13 for other versions */
  claim(job: string, token: string, versions: Readonly<Record<string, string>>): Promise<string>;
  /** `known`: the id of the order that the workers have. */
  order(job: string, token: string, known: string): Promise<RemoteOrderReply>;
  /** Returns whether the fragment is still needed. */
  progress(job: string, token: string, report: ProgressReport): Promise<boolean>;
  /** Returns whether the fragment was needed. @throws code 13 if its file has other rows or columns */
  deliver(job: string, token: string, part: PartReport): Promise<boolean>;
  /** The workers cannot do their work. */
  fail(job: string, token: string, message: string): Promise<void>;
}

/** The keys of jobs in the catalog. They have no role, and they expire. */
export interface WorkerKeys {
  /** A new key. Former ones of the job become invalid. */
  issue(job: string): Promise<{ id: string; token: string }>;
  /** Another token in place of this one. Undefined if it is not of the job. */
  replace(job: string, token: string): Promise<string | undefined>;
  /** Whether a token is valid for a job. */
  isOf(job: string, token: string): Promise<boolean>;
  /** Whether workers have replaced the first token of a job. */
  isReplaced(job: string): Promise<boolean>;
  /** The id of the key of a job. */
  idOf(job: string): Promise<string | undefined>;
  /** Has no effect if there is no such key. */
  revoke(id: string): Promise<void>;
}
