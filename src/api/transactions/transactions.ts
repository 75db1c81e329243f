/** Transaction records: what each change did. The reply to the change names the record as `transaction_id`. */

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
  /** The transaction of a job has the state of the job. */
  status: TransactionStatus;
  properties: Record<string, string>;
}

/** One action of AlterTransaction. */
export type TransactionAction =
  | { kind: "status"; status: TransactionStatus }
  /** `mode`: the effect on an existing value. */
  | { kind: "set"; key: string; value: string; mode: "overwrite" | "fail" | "skip" }
  /** `mode`: the effect if the key is not set. */
  | { kind: "unset"; key: string; mode: "fail" | "skip" };

export interface NewTransaction {
  readonly properties: Record<string, string>;
  /** Id of the job that does the work. */
  readonly job?: string | undefined;
}

export interface Transactions {
  /**
   * Records work that succeeded, or work that a job will do. Returns the id: that of the job, or a new one. Without a
   * promise if the id contains the transaction (see signed-ids.ts).
   */
  record(transaction: NewTransaction): Promise<string> | string;
  /** @throws code 10 if the transaction does not exist or is older than seven days */
  describe(id: string): Promise<TransactionRecord>;
  /**
   * Applies all actions or none. Cancelling marks the row of the job; the caller then stops the job.
   *
   * @throws code 14 for another change of status, or if the transaction has ended
   */
  alter(id: string, actions: readonly TransactionAction[]): Promise<TransactionRecord>;
}
