import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.mjs";

/**
 * A hash of the names and contents of files and folders of the checkout. It ignores modification times, so that
 * a fresh checkout or a restored cache causes no build.
 */
export function fingerprint(inputs) {
  const hash = createHash("sha256");
  for (const path of inputs.flatMap(filesOf).sort()) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update("\0");
  }
  return hash.digest("hex");
}

/** Whether `stampFile` contains the fingerprint `print` of the last build. */
export function isStamped(stampFile, print) {
  return existsSync(stampFile) && readFileSync(stampFile, "utf8") === print;
}

export function stamp(stampFile, print) {
  writeFileSync(stampFile, print);
}

function filesOf(path) {
  const full = join(root, path);
  if (!existsSync(full)) return [];
  if (!statSync(full).isDirectory()) return [path];
  return readdirSync(full)
    .filter((name) => name !== "target" && name !== "node_modules")
    .flatMap((name) => filesOf(`${path}/${name}`));
}
