import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.mjs";

/**
 * One hash over names and contents of files and folders of the checkout. Contents, not times: a
 * checkout or a cache that touches files must not cost a build.
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

/** Whether `stampFile` says that `print` is what was built last. */
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
