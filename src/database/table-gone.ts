import { ErrorCode, JoustError } from "../foundation/errors.js";

/** The failure of a request whose table was dropped while it ran. */
export const tableGone = (): JoustError =>
  new JoustError(
    ErrorCode.ConcurrentModification,
    "the table was dropped, or its namespace was, while this request was at work",
  );
