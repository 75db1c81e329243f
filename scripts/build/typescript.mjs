import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
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
  "scripts/build/bundled.mjs",
  "scripts/packages/licences.mjs",
];
/** The compiled modules, one for each source: some tests and benchmarks load single modules. */
const MODULES = join(root, "build");
/** What npm publishes. */
const DIST = join(root, "dist");
/** The next content of `dist`: a failed build leaves the former one. */
const NEXT = join(root, "dist.next");
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
  // scripts/setup.mjs imports this module before it installs the npm packages.
  const { bundle } = await import("./bundle.mjs");
  rmSync(NEXT, { recursive: true, force: true });
  await bundle(MODULES, NEXT);
  copyDocsPage(NEXT);
  copyWorkerPackage(NEXT);
  rmSync(DIST, { recursive: true, force: true });
  renameSync(NEXT, DIST);
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
