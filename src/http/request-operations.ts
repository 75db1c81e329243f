import type { Operation } from "../api/operation.js";

/** Counts as the operation of `/healthz` and `/readyz`. */
export const PROBE = "probe";

/** The operations that requests are counted by, in the same order in each thread. */
export const requestOperations = (operations: readonly Operation[]): readonly string[] => [
  PROBE,
  ...operations.map(({ id }) => id),
];
