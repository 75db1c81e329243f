/**
 * Requests that take effect once, however often they are sent.
 *
 * A row in the catalog holds what such a request was and, once it is done, what was answered. It is
 * written before the work begins, so that whoever finds it without an answer knows that the work may
 * have been done; the table that it was done on then tells (see `Table.once`).
 */

/** One try of a request to change something. */
export interface Attempt {
  /** Unique to the request: its repetitions go on with it where an earlier one was lost. */
  readonly id: string;
  /** An earlier try, begun at this time, may have taken effect, ms since the epoch. */
  readonly since?: number;
}

/** An answer as it is kept. */
export interface StoredReply {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** JSON text; absent where there is no body. */
  readonly text?: string;
}

/** What is known of a request that was sent before. */
export interface StoredRequest {
  readonly id: string;
  /** What tells it from another one under the same key. */
  readonly fingerprint: string;
  readonly attempt: string;
  readonly beganMillis: number;
  /**
   * `running`: some server is at it. `doubtful`: the server that was at it is gone, or could not tell
   * how it ended.
   */
  readonly state: "running" | "doubtful" | "done";
  /** Of a request that is done. */
  readonly reply?: StoredReply;
}

export interface IdempotentRequests {
  /** What is known of a request of that id, no older than `keptMillis`. */
  find(id: string, keptMillis: number): Promise<StoredRequest | undefined>;
  /** Takes a request up; false when it is known already. */
  begin(
    request: Pick<StoredRequest, "id" | "fingerprint" | "attempt">,
    keptMillis: number,
  ): Promise<boolean>;
  /** Takes a doubtful request up again; false when another server was faster. */
  takeOver(request: StoredRequest): Promise<boolean>;
  /** Keeps the answer for those who ask again. */
  done(attempt: Attempt, id: string, reply: StoredReply): Promise<void>;
  /** The request took no effect: it may be sent again as if for the first time. */
  forget(attempt: Attempt, id: string): Promise<void>;
  /** Nobody knows whether it took effect. */
  doubt(attempt: Attempt, id: string): Promise<void>;
}
