import { type Logger as Pino, pino } from "pino";
import { tracing } from "./tracing.js";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

export type Logger = Pick<Pino, LogLevel | "isLevelEnabled">;

/**
 * Logs JSON lines to stderr: stdout is for the output of a command. Each line has the members of `base`, and
 * the ids of the running span.
 */
export function createLogger(level: LogLevel, base: Record<string, string> | null = null): Logger {
  // pino adds the members of the line to this object, so each line needs a new one.
  const mixin = () => ({ ...tracing?.ids() });
  return pino({ level, base, mixin }, pino.destination({ fd: 2, sync: true }));
}
