import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUNDLED } from "../build/bundled.mjs";
import { root } from "../build/paths.mjs";

/**
 * package.json as if npm installed the packages of the bundle, and without tools. npm would omit the former, as packages
 * of `devDependencies`, from a bill of materials and from the audit of an installation, and with `--omit dev` also what a
 * tool and a dependency have in common.
 */
export function withBundled(manifest, bundled = BUNDLED) {
  const { devDependencies, ...shipped } = manifest;
  const isBundled = ([name]) => bundled.includes(name);
  const required = Object.entries(devDependencies).filter(isBundled);
  return {
    ...shipped,
    dependencies: { ...manifest.dependencies, ...Object.fromEntries(required) },
  };
}

/** Calls `work` with a temporary folder that has this package.json, and a package-lock.json with the same versions. */
export function inShippedFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), "joust-shipped-"));
  try {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    writeFileSync(join(folder, "package.json"), JSON.stringify(withBundled(manifest)));
    copyFileSync(join(root, "package-lock.json"), join(folder, "package-lock.json"));
    // Removes the tools from package-lock.json. It needs no registry.
    const prune = ["install", "--package-lock-only", "--ignore-scripts", "--offline", "--no-audit"];
    execFileSync("npm", prune, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
