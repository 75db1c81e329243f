import type { FlightReport } from "../engine/index.js";
import type { Logger } from "../telemetry/logger.js";

/** Logs faults of the server, and at the level debug every call. */
export function logCall(log: Logger, report: FlightReport): void {
  const { operation, status, message, cause, isFault, ms, bytes, requestId, caller } = report;
  const call = { operation, status, requestId, caller };
  if (isFault) log.warn({ ...call, err: cause ?? message }, "Flight SQL call failed");
  if (log.isLevelEnabled("debug")) {
    log.debug({ ...call, bytes, ms: Math.round(ms * 100) / 100 }, "Flight SQL call");
  }
}
