import { invalidInput } from "../../foundation/errors.js";

/** A JSON number above 2^53 may have lost digits. @throws code 13 */
export function checkRowId(row: number): number {
  if (Number.isSafeInteger(row)) return row;
  throw invalidInput(
    "a row id must be an integer from 0 to 2^53 - 1: use the values of _rowid in query results",
  );
}
