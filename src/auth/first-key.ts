import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { KeyStore } from "../catalog/keys.js";
import { hashKey, newKey } from "./key.js";
import { isWorkerKey } from "./worker-keys.js";

/**
 * Creates an admin key if the catalog has no key, so that a new server is usable. Keys of workers do not count. Writes the key to a file
 * that only this user can read: output would appear in the logs of a container. Returns the path of the
 * file; undefined if the catalog has a key.
 *
 * @throws the file system's error if the file cannot be written; the catalog then stays without a key
 */
export async function createFirstKey(keys: KeyStore, file: string): Promise<string | undefined> {
  const all = await keys.list();
  if (!all.every(isWorkerKey)) return undefined;
  const key = newKey();
  const path = writeNewFile(file, `${key}\n`);
  try {
    await keys.create({ name: "admin", role: "admin", hash: hashKey(key) });
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
  return path;
}

/** The most file names to try if files of other servers exist. */
const MAX_NAMES = 100;

/** Creates a new file. A file of another server, whose key may still be valid, is not replaced. */
function writeNewFile(file: string, content: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  for (let n = 1; ; n++) {
    const path = n === 1 ? file : `${file}-${n}`;
    try {
      const descriptor = openSync(path, "wx", 0o600);
      try {
        writeSync(descriptor, content);
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || n === MAX_NAMES) throw error;
    }
  }
}
