import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { copyDocsPage } from "./docs-page.mjs";
import { fingerprint, isStamped, stamp } from "./fingerprint.mjs";
import { root } from "./paths.mjs";
import { copyWorkerPackage } from "./worker-package.mjs";

const INPUTS = ["src", "tsconfig.json", "package-lock.json", "native/index.d.ts"];
const DIST = join(root, "dist");
const STAMP = join(DIST, ".stamp");

export function typescriptStale() {
  return !isStamped(STAMP, fingerprint(INPUTS));
}

export function buildTypescript() {
  const inputs = fingerprint(INPUTS);
  mkdirSync(DIST, { recursive: true });
  removeOrphans("");
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  try {
    execFileSync(process.execPath, [tsc, "--project", root], { stdio: ["ignore", 2, 2] });
  } catch {
    throw new Error("the TypeScript sources have type errors: see above");
  }
  copyDocsPage(DIST);
  copyWorkerPackage(DIST);
  stamp(STAMP, inputs);
}

/** Removes compiled files without a source. */
function removeOrphans(folder) {
  for (const entry of readdirSync(join(DIST, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (existsSync(join(root, "src", path))) removeOrphans(path);
      else rmSync(join(DIST, path), { recursive: true });
      continue;
    }
    const source = path.replace(/(\.d\.ts|\.js)(\.map)?$/, ".ts");
    if (source !== path && !existsSync(join(root, "src", source))) rmSync(join(DIST, path));
  }
}
