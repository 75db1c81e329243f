import { invalidInput } from "../../foundation/errors.js";

const MILLIS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** Parses a duration such as `30s` or `5m`. Returns milliseconds. @throws code 13 */
export function parseDurationMillis(field: string, text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text.trim()) ?? [];
  if (number !== undefined) return Number(number) * MILLIS[unit as keyof typeof MILLIS];
  throw invalidInput(
    `${field} must be a number and its unit (ms, s, m or h), such as 30s or 5m, not ${JSON.stringify(text.slice(0, 80))}`,
  );
}
