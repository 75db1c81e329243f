import type { Table } from "../../engine/index.js";
import type { Call } from "../operation.js";

/** A table as a request changes it: once, where the client asked for that. */
export const forAttempt = (
  table: Table,
  { attempt }: Pick<Call<unknown, unknown>, "attempt">,
): Table => (attempt ? table.once(attempt.id, attempt.since) : table);
