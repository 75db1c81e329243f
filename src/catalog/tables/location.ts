import { randomBytes } from "node:crypto";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { isRemote } from "../../foundation/addresses.js";

/** Characters of the name in a location: short enough for every file system. */
const MAX_READABLE = 160;
const PLAIN = /^[A-Za-z0-9._-]+$/;

/**
 * Returns the location of a new table.
 *
 * - A root table with a plain name: `<root>/<name>.lance`, as every Lance tool expects.
 * - A name with special characters, or a default location that is in use: with a random suffix.
 * - A table of a child namespace: `<root>/<8hex>_<ns$name>`, the layout of LanceDB's `__manifest`.
 *
 * Special characters are not escaped with `%`: object stores decode that in URIs, and a table would have two addresses.
 */
export function newLocation(root: string, id: readonly string[], isTaken = false): string {
  const suffix = randomBytes(4).toString("hex");
  const joined = id.map(plain).join("$").slice(0, MAX_READABLE);
  if (id.length > 1) return child(root, `${suffix}_${joined}`);
  const [name = ""] = id;
  const isPlain = !isTaken && PLAIN.test(name) && name.length <= MAX_READABLE;
  return child(root, isPlain ? `${name}.lance` : `${joined}-${suffix}.lance`);
}

/** Whether something exists at a local location; undefined for a remote one, to save a request. */
async function onDisk(location: string): Promise<boolean | undefined> {
  if (isRemote(location)) return undefined;
  // `lstat`: a dangling link counts as existing.
  return lstat(location).then(
    () => true,
    () => false,
  );
}

/**
 * Returns a location without files: existing files belong to something else and must survive the table.
 *
 * @param isTaken whether files exist at the default location; undefined: checks the local disk
 */
export async function unusedLocation(
  root: string,
  id: readonly string[],
  isTaken: boolean | undefined,
): Promise<string> {
  const location = newLocation(root, id);
  return (isTaken ?? (await onDisk(location))) ? newLocation(root, id, true) : location;
}

/** Returns false only when certainly nothing exists at a location. */
export const mayExist = async (location: string) => (await onDisk(location)) ?? true;

const plain = (name: string): string => name.replaceAll(/[^A-Za-z0-9._-]/gu, "_");

const child = (root: string, name: string): string =>
  isRemote(root) ? `${root.replace(/\/+$/, "")}/${name}` : join(root, name);
