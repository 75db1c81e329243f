import { randomBytes } from "node:crypto";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { isRemote } from "../../foundation/addresses.js";

/** Long enough to tell names apart, short enough for every file system. */
const MAX_READABLE = 160;
const PLAIN = /^[A-Za-z0-9._-]+$/;

/**
 * Where a new table's files go.
 *
 * A root table with a plain name is `<root>/<name>.lance`, as every Lance tool expects. A name
 * that no file should bear, and a location that is `taken`, get a random suffix. Tables of child
 * namespaces are `<root>/<8hex>_<ns$name>`, the layout of LanceDB's `__manifest`.
 * No escapes with `%`: object stores decode them in URIs, and one table would have two addresses.
 */
export function newLocation(root: string, id: readonly string[], taken = false): string {
  const suffix = randomBytes(4).toString("hex");
  const joined = id.map(plain).join("$").slice(0, MAX_READABLE);
  if (id.length > 1) return child(root, `${suffix}_${joined}`);
  const [name = ""] = id;
  const asItIs = !taken && PLAIN.test(name) && name.length <= MAX_READABLE;
  return child(root, asItIs ? `${name}.lance` : `${joined}-${suffix}.lance`);
}

/** Whether something is at a location; undefined for a remote one, which is not asked for. */
async function onDisk(location: string): Promise<boolean | undefined> {
  if (isRemote(location)) return undefined;
  // A link that leads nowhere is something too.
  return lstat(location).then(
    () => true,
    () => false,
  );
}

/**
 * Where a new table's files go: what is there already is not the table's, and must outlive it.
 *
 * @param taken whether something is where the name alone would put them; undefined: a look at the disk tells
 */
export async function unusedLocation(
  root: string,
  id: readonly string[],
  taken: boolean | undefined,
): Promise<string> {
  const location = newLocation(root, id);
  return (taken ?? (await onDisk(location))) ? newLocation(root, id, true) : location;
}

/** False when there is nothing at a location for sure. */
export const mayExist = async (location: string) => (await onDisk(location)) ?? true;

const plain = (name: string): string => name.replaceAll(/[^A-Za-z0-9._-]/gu, "_");

const child = (root: string, name: string): string =>
  isRemote(root) ? `${root.replace(/\/+$/, "")}/${name}` : join(root, name);
