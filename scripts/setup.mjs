/**
 * Prepares a checkout: installs the npm packages, and compiles the engine and the TypeScript sources, each only if it
 * is stale. Needs only Node and Rust. Every npm script runs it. `--check` changes nothing, and exits with 1 if a part
 * is stale. It runs before the npm packages exist, so it imports none.
 */
import { addonStale, buildAddon, downloadAddon, firstBuildHint } from "./build/addon.mjs";
import { dependenciesStale, installDependencies } from "./build/dependencies.mjs";
import { withSetupLock } from "./build/lock.mjs";
import { buildTypescript, typescriptStale } from "./build/typescript.mjs";

const steps = [
  {
    part: "npm packages",
    isStale: dependenciesStale,
    make: installDependencies,
    action: "installing",
  },
  {
    part: "the engine",
    isStale: addonStale,
    make: buildAddon,
    download: downloadAddon,
    action: "compiling",
    hint: firstBuildHint,
  },
  {
    part: "the TypeScript sources",
    isStale: typescriptStale,
    make: buildTypescript,
    action: "compiling",
  },
];

/**
 * Brings all parts up to date. `allowPublished`: download the engine of the platform package instead of compiling it,
 * for commands that only run joust.
 */
export async function setup({ allowPublished = false } = {}) {
  requireNode(20, 19);
  if (staleParts().length > 0) await withSetupLock(() => makeStaleParts(allowPublished));
}

async function makeStaleParts(allowPublished) {
  for (const { part, isStale, make, download, action, hint } of steps) {
    if (!isStale()) continue;
    if (allowPublished && download?.()) continue;
    console.error(`${action} ${part}${hint?.() ?? ""}`);
    await make();
  }
}

function staleParts() {
  return steps.filter(({ isStale }) => isStale()).map(({ part }) => part);
}

function requireNode(major, minor) {
  const [currentMajor, currentMinor] = process.versions.node.split(".").map(Number);
  if (currentMajor > major || (currentMajor === major && currentMinor >= minor)) return;
  throw new Error(`joust needs Node ${major}.${minor} or newer, not ${process.versions.node}`);
}

if (import.meta.filename === process.argv[1]) {
  try {
    if (process.argv.includes("--check")) {
      const stale = staleParts();
      for (const part of stale) console.error(`not up to date: ${part}`);
      process.exitCode = stale.length > 0 ? 1 : 0;
    } else {
      await setup();
    }
  } catch (error) {
    console.error(`set-up failed: ${error.message}`);
    process.exitCode = 1;
  }
}
