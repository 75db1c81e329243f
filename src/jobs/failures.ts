import { ErrorCode, JoustError } from "../foundation/errors.js";

export const jobNotFound = (id: string): JoustError =>
  new JoustError(
    ErrorCode.TransactionNotFound,
    `there is no job or transaction ${JSON.stringify(id)}`,
  );
