import { ErrorCode, JoustError } from "../foundation/errors.js";

/** The failure of a request whose table was dropped while it ran. */
export const tableDropped = (): JoustError =>
  new JoustError(
    ErrorCode.ConcurrentModification,
    "the table or its namespace was dropped while this request ran",
  );
