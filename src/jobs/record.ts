import type { Selectable } from "kysely";
import type { JobsRow } from "../database/schema.js";
import type { ErrorCode } from "../foundation/errors.js";
import type { JobRecord } from "./jobs.js";

/** States of a job that may still change what is in its table. */
export const ACTIVE = ["QUEUED", "RUNNING"] as const;
export const ENDED = ["DONE", "FAILED", "CANCELLED"] as const;

export const isActive = ({ state }: Pick<JobRecord, "state">): boolean =>
  ACTIVE.some((active) => active === state);

export const jobRecord = (row: Selectable<JobsRow>): JobRecord => ({
  id: row.id,
  kind: row.kind,
  table: row.table_key,
  name: row.name,
  spec: row.spec,
  state: row.state,
  paused: row.paused === 1,
  ...(row.progress !== null && { progress: JSON.parse(row.progress) }),
  ...(row.error_code !== null && {
    error: { code: row.error_code as ErrorCode, message: row.error_message ?? "" },
  }),
  ...(row.result !== null && { result: JSON.parse(row.result) }),
  createdMillis: row.created_at,
  updatedMillis: row.updated_at,
});
