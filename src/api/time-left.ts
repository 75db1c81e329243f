import type { Call } from "./operation.js";

/** The engine's time limit for the work of a request: a member of its options. */
export const timeoutOf = ({
  timeLeftMs,
}: Pick<Call<unknown, unknown>, "timeLeftMs">): { timeoutMs?: number } =>
  timeLeftMs === undefined ? {} : { timeoutMs: timeLeftMs };
