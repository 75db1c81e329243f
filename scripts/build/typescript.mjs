import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { copyDocsPage } from "./docs-page.mjs";
import { fingerprint, isStamped, stamp } from "./fingerprint.mjs";
import { root } from "./paths.mjs";
import { copyWorkerPackage } from "./worker-package.mjs";

const INPUTS = [
  "src",
  "tsconfig.json",
  "package.json",
  "package-lock.json",
  "native/index.d.ts",
  "scripts/build/bundle.mjs",
];
/** The compiled modules, one for each source: some tests and benchmarks load single modules. */
const MODULES = join(root, "build");
/** What npm publishes. */
const DIST = join(root, "dist");
const STAMP = join(DIST, ".stamp");

export function typescriptStale() {
  return !existsSync(MODULES) || !isStamped(STAMP, fingerprint(INPUTS));
}

/** Compiles the sources to build/, and bundles the modules in dist/. */
export async function buildTypescript() {
  const inputs = fingerprint(INPUTS);
  if (existsSync(MODULES)) removeOrphans("");
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  try {
    execFileSync(process.execPath, [tsc, "--project", root], { stdio: ["ignore", 2, 2] });
  } catch {
    throw new Error("the TypeScript sources have type errors: see above");
  }
  rmSync(DIST, { recursive: true, force: true });
  // It imports npm packages, which this module may precede.
  const { bundle } = await import("./bundle.mjs");
  await bundle(MODULES, DIST);
  copyDocsPage(DIST);
  copyWorkerPackage(DIST);
  stamp(STAMP, inputs);
}

/** Removes compiled files without a source. */
function removeOrphans(folder) {
  for (const entry of readdirSync(join(MODULES, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (existsSync(join(root, "src", path))) removeOrphans(path);
      else rmSync(join(MODULES, path), { recursive: true });
      continue;
    }
    const source = path.replace(/(\.d\.ts|\.js)$/, ".ts");
    if (source !== path && !existsSync(join(root, "src", source))) rmSync(join(MODULES, path));
  }
}
