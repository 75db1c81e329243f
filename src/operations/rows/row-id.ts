import { invalidInput } from "../../foundation/errors.js";

/** JSON numbers beyond 2^53 may have been others when they were sent. */
export function checkRow(row: number): number {
  if (Number.isSafeInteger(row)) return row;
  throw invalidInput(
    "a row id is a whole number from 0 to 2^53 - 1, as queries give them in _rowid",
  );
}
