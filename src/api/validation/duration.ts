import ms from "ms";
import { invalidInput } from "../../foundation/errors.js";

/** The milliseconds of a time such as `30s` or `5m`. @throws code 13 */
export function parseDurationMillis(field: string, text: string): number {
  const trimmed = text.trim();
  // `ms` alone would also accept `-5s`, `1y` and `2 days`.
  if (/^\d{1,30}(?:\.\d{1,30})?(?:ms|s|m|h)$/.test(trimmed)) return ms(trimmed as ms.StringValue);
  throw invalidInput(
    `${field} must be a number and its unit (ms, s, m or h), as in 30s or 5m, not ${JSON.stringify(text.slice(0, 80))}`,
  );
}
