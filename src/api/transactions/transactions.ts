/** Records of what was changed, each under the `transaction_id` that the change's reply gave. */

export const transactionStatuses = [
  "Queued",
  "Running",
  "Succeeded",
  "Failed",
  "Canceled",
] as const;
export type TransactionStatus = (typeof transactionStatuses)[number];

export interface TransactionRecord {
  id: string;
  /** A job's is the job's own state. */
  status: TransactionStatus;
  properties: Record<string, string>;
}

/** One step of an alteration. */
export type TransactionAction =
  | { kind: "status"; status: TransactionStatus }
  /** `mode`: what to do with a value that is there. */
  | { kind: "set"; key: string; value: string; mode: "overwrite" | "fail" | "skip" }
  /** `mode`: what to do when there is none. */
  | { kind: "unset"; key: string; mode: "fail" | "skip" };

/** What is to be recorded. */
export interface Work {
  readonly properties: Record<string, string>;
  /** Id of the job that will do it. */
  readonly job?: string | undefined;
}

export interface Transactions {
  /**
   * Records work that succeeded, or (`job`) that a job will do, whose id the record then has. Any other id
   * says itself what was done, and is there without a promise.
   */
  record(work: Work): Promise<string> | string;
  /** Code 10 when unknown, also after seven days. */
  describe(id: string): Promise<TransactionRecord>;
  /**
   * Applies all actions or none. Queued and running work can be canceled (the caller stops the
   * job, whose row is canceled by then); any other change of status is code 14.
   */
  alter(id: string, actions: readonly TransactionAction[]): Promise<TransactionRecord>;
}
