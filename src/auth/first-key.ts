import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { KeyStore } from "../catalog/keys.js";
import { hashKey, newKey } from "./key.js";

/**
 * Makes an admin key where there is no key yet, so that a new server can be used, and writes it to a file that
 * only this user can read: what is printed is in the logs of a container. Its path; undefined when there is a key.
 *
 * @throws the file system's error when the file cannot be written; no key is made then
 */
export async function createFirstKey(keys: KeyStore, file: string): Promise<string | undefined> {
  if ((await keys.count()) > 0) return undefined;
  const key = newKey();
  const path = write(file, `${key}\n`);
  try {
    await keys.create({ name: "admin", role: "admin", hash: hashKey(key) });
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
  return path;
}

/** Names that are tried where files of other servers are in the way. */
const MAX_NAMES = 100;

/** Writes a file that is not there yet; one of another server, whose key may still be good, stays. */
function write(file: string, content: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  for (let n = 1; ; n++) {
    const path = n === 1 ? file : `${file}-${n}`;
    try {
      const opened = openSync(path, "wx", 0o600);
      try {
        writeSync(opened, content);
        fsyncSync(opened);
      } finally {
        closeSync(opened);
      }
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || n === MAX_NAMES) throw error;
    }
  }
}
