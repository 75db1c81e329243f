import { randomBytes } from "node:crypto";
import { access } from "node:fs/promises";
import { join } from "node:path";

/** Long enough to tell names apart, short enough for every file system. */
const MAX_READABLE = 160;
const PLAIN = /^[A-Za-z0-9._-]+$/;

export const isRemote = (root: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(root);

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

/** Whether a local location has files. A remote one is not looked at: nobody can tell cheaply. */
async function onDisk(location: string): Promise<boolean | undefined> {
  if (isRemote(location)) return undefined;
  return access(location).then(
    () => true,
    () => false,
  );
}

/** False when there are no files at a location for sure. */
export const mayExist = async (location: string) => (await onDisk(location)) ?? true;

/** True when there are files at a location for sure. */
export const surelyExists = async (location: string) => (await onDisk(location)) ?? false;

const plain = (name: string): string => name.replaceAll(/[^A-Za-z0-9._-]/gu, "_");

const child = (root: string, name: string): string =>
  isRemote(root) ? `${root.replace(/\/+$/, "")}/${name}` : join(root, name);
