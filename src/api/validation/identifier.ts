import { invalidInput } from "../../foundation/errors.js";

/** Separates the components of an identifier unless the request names another delimiter. */
export const defaultDelimiter = "$";

/** uWebSockets.js replaces invalid UTF-8 in the URL by this character. */
const REPLACED = "\uFFFD";

/** Percent-decodes one path segment or one side of a query parameter. */
export function decode(text: string, what: string): string {
  if (!text.includes("%") && !text.includes(REPLACED)) return text;
  try {
    if (!text.includes(REPLACED)) return decodeURIComponent(text);
  } catch {}
  throw invalidInput(`${what} is not percent-encoded UTF-8`);
}

/**
 * The components of the identifier in a path segment: percent-decoded, then split at the delimiter. The delimiter
 * alone is the root namespace, [].
 */
export function parseIdentifier(segment: string, delimiter: string): string[] {
  const text = decode(segment, "the id in the path");
  if (text === delimiter) return [];
  const id = text.split(delimiter);
  if (id.includes("")) {
    throw invalidInput(
      `the id \`${text}\` has an empty component: components are joined by \`${delimiter}\`, and \`${delimiter}\` alone is the root`,
    );
  }
  return id;
}

/** @throws code 13 if the body's `id` differs from the path. An empty one counts as absent: the Java client always sends it. */
export function checkBodyId(bodyId: unknown, id: readonly string[]): void {
  if (bodyId === undefined || bodyId === null) return;
  if (!Array.isArray(bodyId) || bodyId.some((component) => typeof component !== "string")) {
    throw invalidInput("`id` in the body must be an array of strings");
  }
  if (bodyId.length === 0) return;
  if (bodyId.length !== id.length || bodyId.some((component, at) => component !== id[at])) {
    throw invalidInput(
      `\`id\` in the body is ${JSON.stringify(bodyId)} but the path has ${JSON.stringify(id)}: send the same id or leave it out`,
    );
  }
}
