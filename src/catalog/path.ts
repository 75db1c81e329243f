/**
 * Stored form of namespace paths: components joined by U+001F; the root is "".
 *
 * Names contain no control characters, so the form is unambiguous for every delimiter of a client. In byte order a
 * path is directly followed by its descendants, so that they are one range of the index.
 */
const SEPARATOR = "\u001f";
const AFTER_SEPARATOR = "\u0020";

export const ROOT = "";

export const encodePath = (path: readonly string[]): string => path.join(SEPARATOR);

export const decodePath = (stored: string): string[] =>
  stored === ROOT ? [] : stored.split(SEPARATOR);

/** Parent and last component of a path that is not the root. */
export function splitPath(path: readonly string[]): { parent: string; name: string } {
  return { parent: encodePath(path.slice(0, -1)), name: path.at(-1) ?? "" };
}

/** Bounds of the stored paths below `stored`, which is not the root: from <= path < to. */
export function descendants(stored: string): { from: string; to: string } {
  return { from: stored + SEPARATOR, to: stored + AFTER_SEPARATOR };
}

/** Whether an object is in a namespace or in one below it. */
export const isBelow = (id: readonly string[], namespace: readonly string[]): boolean =>
  id.length > namespace.length && namespace.every((part, at) => part === id[at]);

/** Formats an identifier for messages. */
export const formatPath = (path: readonly string[]): string =>
  path.length === 0 ? "the root namespace" : JSON.stringify(path.join("$"));
