import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BUNDLED } from "../build/bundled.mjs";
import { root } from "../build/paths.mjs";

/**
 * package.json and package-lock.json as if npm installed the packages of the bundle. npm would omit them, as packages
 * of `devDependencies`, from a bill of materials and from the audit of an installation.
 */
export function withBundled(manifest, lock, bundled = BUNDLED) {
  const dependencies = { ...manifest.dependencies };
  const devDependencies = { ...manifest.devDependencies };
  const packages = { ...lock.packages };
  for (const name of bundled) {
    dependencies[name] = devDependencies[name];
    delete devDependencies[name];
    const { dev: _, ...installed } = packages[`node_modules/${name}`];
    packages[`node_modules/${name}`] = installed;
  }
  packages[""] = { ...packages[""], dependencies, devDependencies };
  return { manifest: { ...manifest, dependencies, devDependencies }, lock: { ...lock, packages } };
}

/** Calls `work` with a temporary folder that has the two files. */
export function inShippedFolder(work) {
  const read = (name) => JSON.parse(readFileSync(join(root, name), "utf8"));
  const { manifest, lock } = withBundled(read("package.json"), read("package-lock.json"));
  const folder = mkdtempSync(join(tmpdir(), "joust-shipped-"));
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
