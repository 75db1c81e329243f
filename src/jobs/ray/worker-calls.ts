/** How much of a task is done. */
export interface ProgressReport {
  /** The key of the task in the order. */
  readonly key: string;
  readonly units: number;
}

/** The result of a task: `Part` in joust-core. */
export interface PartReport {
  readonly key: string;
  readonly result: object;
}

/** Work for workers. Without an order they wait. */
export interface RemoteOrderReply {
  readonly order_id?: string;
  /** Absent if the workers know it. */
  readonly order?: object;
  /** The credentials of the store that tasks need from now on, if they expire. */
  readonly storage_options?: Readonly<Record<string, string>>;
  /** The same for each of the tables from which they read, if these are others. */
  readonly source_options?: readonly Readonly<Record<string, string>>[];
}

/** How workers begin to work for a job. */
export interface Claim {
  /** Of the packages on Ray. */
  readonly versions: Readonly<Record<string, string>>;
  /** The token to use from now on, which the workers have made. */
  readonly replacement: string;
}

/**
 * What workers ask of the server, with the token of their job.
 *
 * @throws code 16 for a token of another job or of one that has ended; code 17 while the job does not run on this server
 */
export interface WorkerCalls {
  /**
   * Replaces the token of a new job, which every user of the Ray cluster can read. The replacement is valid from then
   * on, also if the reply is lost.
   *
   * @throws code 13 for other versions
   */
  claim(job: string, token: string, claim: Claim): Promise<void>;
  /** `known`: the id of the order that the workers have. */
  order(job: string, token: string, known: string): Promise<RemoteOrderReply>;
  /** Returns whether the result of the task is still needed. */
  progress(job: string, token: string, report: ProgressReport): Promise<boolean>;
  /** Returns whether the result was needed. @throws code 13 if it does not fit the task */
  deliver(job: string, token: string, part: PartReport): Promise<boolean>;
  /** The workers cannot do their work. */
  fail(job: string, token: string, message: string): Promise<void>;
}

/** The keys of jobs in the catalog. They have no role, and they expire. */
export interface WorkerKeys {
  /**
   * A new key. Former ones of the job become invalid. Undefined, and without effect, if this server does not own the job:
   * the former key is that of the new owner.
   */
  issue(job: string): Promise<{ id: string; token: string } | undefined>;
  /**
   * Puts another token in the place of this one. Returns false if this one is not of the job.
   *
   * @throws code 13 for a replacement without the format of a key
   */
  replace(job: string, token: string, replacement: string): Promise<boolean>;
  /** Whether a token is valid for a job. */
  isOf(job: string, token: string): Promise<boolean>;
  /** Whether workers have replaced the first token of a job. */
  isReplaced(job: string): Promise<boolean>;
  /** The id of the key of a job. */
  idOf(job: string): Promise<string | undefined>;
  /** Has no effect if there is no such key. */
  revoke(id: string): Promise<void>;
}
