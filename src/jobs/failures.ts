import { ErrorCode, JoustError } from "../foundation/errors.js";

export const jobNotFound = (id: string): JoustError =>
  new JoustError(
    ErrorCode.TransactionNotFound,
    `there is no job or transaction ${JSON.stringify(id)}`,
  );

/** A cancelled build has not ended in time. */
export const buildStillRuns = (name: string): JoustError =>
  new JoustError(
    ErrorCode.ConcurrentModification,
    `the build of the index ${JSON.stringify(name)} is cancelled and has not ended yet: send the request again`,
  );
