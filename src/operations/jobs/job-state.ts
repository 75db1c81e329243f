import type { JobRecord } from "../../jobs/jobs.js";

/** The state as LanceDB SDKs name it. They take a state that they do not know as active. */
export function reportedState({ state, paused }: JobRecord): string {
  if (state === "RUNNING") return "IN_PROGRESS";
  return state === "QUEUED" && paused ? "PAUSED" : state;
}

export const hasEnded = ({ state }: JobRecord): boolean =>
  state !== "QUEUED" && state !== "RUNNING";
