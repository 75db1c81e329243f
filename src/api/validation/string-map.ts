import { invalidInput } from "../../foundation/errors.js";

/**
 * Parses a map of strings that a query parameter or a header has as JSON text; {} if it is absent or empty.
 *
 * @throws code 13
 */
export function readStringMap(source: string, text: string | undefined): Record<string, string> {
  if (text === undefined || text === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notAMap(source);
  }
  if (value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw notAMap(source);
  for (const member of Object.values(value)) {
    if (typeof member !== "string") throw notAMap(source);
  }
  return value as Record<string, string>;
}

const notAMap = (source: string) =>
  invalidInput(
    `${source} must be one JSON object whose values are strings, such as {"team":"eng"}`,
  );
