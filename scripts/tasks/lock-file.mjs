import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";

/**
 * The packages of a lock file without a hash, as `path@version`: npm would install any content for them. A link to
 * a directory of the checkout needs no hash.
 */
export function withoutIntegrity({ packages }) {
  return Object.entries(packages)
    .filter(
      ([path, entry]) => path !== "" && !entry.link && !/^sha512-/.test(entry.integrity ?? ""),
    )
    .map(([path, { version }]) => `${path}@${version}`);
}

/** Prints the faults of package-lock.json and returns their number. */
export function checkLockFile() {
  const bare = withoutIntegrity(JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")));
  for (const entry of bare) console.error(`package-lock.json: no integrity hash for ${entry}`);
  if (bare.length > 0) {
    console.error(
      "npm omits hashes if it derives the lock file from an installed node_modules:\n" +
        "remove node_modules, then run npm install --package-lock-only",
    );
  }
  return bare.length;
}
