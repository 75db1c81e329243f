import { ErrorCode, JoustError } from "../foundation/errors.js";

/** What a limit applies to, for messages and metrics. */
export type LimitScope = "caller" | "namespace" | "unauthenticated";

/** A request that a limit refuses: 429. */
export class LimitExceeded extends JoustError {
  constructor(
    /** The name of the limit in the limits file. */
    readonly limit: string,
    readonly scope: LimitScope,
    message: string,
    /** How long the client has to wait at least, seconds. */
    readonly retryAfterSeconds: number,
  ) {
    super(
      ErrorCode.Throttling,
      `${message}: send the request again after ${retryAfterSeconds} s (limit \`${limit}\`)`,
    );
  }
}

/** Whole seconds of a time in ns, at least one. */
export const retryAfter = (nanos: bigint): number =>
  Math.max(1, Math.ceil(Number(nanos) / 1_000_000_000));
