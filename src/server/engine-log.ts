import { forwardLog } from "../engine/index.js";
import type { Logger } from "../telemetry/logger.js";

/** Writes warnings and errors of the engine and its libraries to the log. */
export function forwardEngineLog(log: Logger): void {
  forwardLog(({ isError, module, message, values }) => {
    // The values may have names that a log line uses itself.
    const members = Object.keys(values).length > 0 ? { module, values } : { module };
    log[isError ? "error" : "warn"](members, message);
  });
}
