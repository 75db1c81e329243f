import type { JobRecord } from "../../jobs/jobs.js";

/** LanceDB's words; what they do not know counts as still at work. */
export function stateOf({ state, paused }: JobRecord): string {
  if (state === "RUNNING") return "IN_PROGRESS";
  return state === "QUEUED" && paused ? "PAUSED" : state;
}

export const hasEnded = ({ state }: JobRecord): boolean =>
  state !== "QUEUED" && state !== "RUNNING";
