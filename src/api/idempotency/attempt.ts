import type { Table } from "../../engine/index.js";
import type { Call } from "../operation.js";

/** The table for a change by a request: an idempotent request stamps its commits. */
export const tableForAttempt = (
  table: Table,
  { attempt }: Pick<Call<unknown, unknown>, "attempt">,
): Table => (attempt ? table.forRequest(attempt.id, attempt.since) : table);
