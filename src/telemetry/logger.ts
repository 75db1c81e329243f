import { type Logger as Pino, pino } from "pino";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

export type Logger = Pick<Pino, LogLevel | "isLevelEnabled">;

/** Logs JSON lines to stderr: stdout is for the output of a command. Each line has the members of `base`. */
export function createLogger(level: LogLevel, base: Record<string, string> | null = null): Logger {
  return pino({ level, base }, pino.destination({ fd: 2, sync: true }));
}
