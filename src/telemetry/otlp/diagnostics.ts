import { DiagLogLevel, diag } from "@opentelemetry/api";
import type { Logger } from "../logger.js";

/** How long equal messages are not logged again, ms: during an outage each batch fails. */
const QUIET_TIME = 60_000;
/** The most messages that are remembered. */
const MAX_MESSAGES = 100;

/** Logs the warnings of the OpenTelemetry SDK, such as the failure of an export, at most once a minute each. */
export function logDiagnostics(log: Logger): void {
  const logged = new Map<string, number>();
  const warn = (first: unknown): void => {
    const reason = messageOf(first);
    const now = performance.now();
    const last = logged.get(reason);
    if (last !== undefined && now - last < QUIET_TIME) return;
    if (logged.size >= MAX_MESSAGES) logged.clear();
    logged.set(reason, now);
    log.warn({ reason }, "OpenTelemetry: traces or metrics could not be sent");
  };
  const ignore = () => {};
  const logger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** The SDK passes errors as JSON text with a stack. */
function messageOf(message: unknown): string {
  const text = String(message);
  try {
    const { message, code } = JSON.parse(text);
    if (typeof message === "string") return message === "" ? String(code) : message;
  } catch {}
  return text.split("\n")[0] as string;
}
