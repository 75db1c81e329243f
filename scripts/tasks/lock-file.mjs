import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";

/**
 * The packages of a lock file for which npm would install any content, as `path@version`: npm compares
 * a package with its entry's hash, and with nothing when the entry has none. A link leads to a
 * directory of this checkout and has no content to compare.
 */
export function withoutIntegrity({ packages }) {
  return Object.entries(packages)
    .filter(
      ([path, entry]) => path !== "" && !entry.link && !/^sha512-/.test(entry.integrity ?? ""),
    )
    .map(([path, { version }]) => `${path}@${version}`);
}

/** Names what is wrong with package-lock.json; the number of faults. */
export function checkLockFile() {
  const bare = withoutIntegrity(JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")));
  for (const entry of bare) console.error(`package-lock.json: no integrity hash for ${entry}`);
  if (bare.length > 0) {
    console.error(
      "npm leaves hashes out when it derives the lock file from an installed node_modules:\n" +
        "remove node_modules, then run npm install --package-lock-only",
    );
  }
  return bare.length;
}
