import type { ErrorCode } from "../foundation/errors.js";

/** Whether a failure, the engine's or ours, has that code. */
export const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof Error && "code" in error && error.code === code;
