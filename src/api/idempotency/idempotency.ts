/**
 * Idempotent requests: a request takes effect once, however often the client sends it.
 *
 * A row in the catalog stores what the request was and, once it is complete, the reply. The row is written before
 * the work can commit. A row without a reply therefore means that the work may have been done; the table then reports
 * whether it was (see `Table.forRequest`).
 */

/** One attempt of an idempotent request. */
export interface Attempt {
  /** Unique to the request. A repetition continues with it if the outcome of an earlier attempt is unknown. */
  readonly id: string;
  /** Start of an earlier attempt that may have taken effect, ms since the epoch. */
  readonly since?: number;
}

/** A reply as the catalog stores it. */
export interface StoredReply {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** JSON text; absent without a body. */
  readonly text?: string;
}

/** The stored state of a request. */
export interface StoredRequest {
  readonly id: string;
  /** Distinguishes the request from another one with the same key. */
  readonly fingerprint: string;
  readonly attempt: string;
  readonly startedMillis: number;
  /**
   * `running`: a live server handles it. `unknown`: its server stopped, or could not determine the outcome.
   */
  readonly state: "running" | "unknown" | "done";
  /** Present in state `done`. */
  readonly reply?: StoredReply;
}

export interface IdempotentRequests {
  /** The stored request of that id unless it is older than `retentionMillis`. */
  find(id: string, retentionMillis: number): Promise<StoredRequest | undefined>;
  /** Stores a new request; false if it is already stored. */
  begin(
    request: Pick<StoredRequest, "id" | "fingerprint" | "attempt">,
    retentionMillis: number,
  ): Promise<boolean>;
  /** Continues a request in state `unknown`; false if another attempt was faster. */
  takeOver(request: StoredRequest): Promise<boolean>;
  /** Stores the reply for repetitions. */
  complete(attempt: Attempt, id: string, reply: StoredReply): Promise<void>;
  /** Deletes a request that took no effect. A repetition then counts as a new request. */
  forget(attempt: Attempt, id: string): Promise<void>;
  /** Sets the state `unknown`. */
  markUnknown(attempt: Attempt, id: string): Promise<void>;
}
