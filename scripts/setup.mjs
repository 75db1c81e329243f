/**
 * Makes a checkout runnable: installs the npm packages, compiles the engine and the TypeScript
 * sources, each only when it is stale. Needs Node and Rust and nothing else; every npm script goes
 * through here. `--check` changes nothing and ends with 1 when something is stale.
 */
import { addonStale, buildAddon, firstBuildHint, takePublishedAddon } from "./build/addon.mjs";
import { dependenciesStale, installDependencies } from "./build/dependencies.mjs";
import { exclusively } from "./build/lock.mjs";
import { buildTypescript, typescriptStale } from "./build/typescript.mjs";

const steps = [
  {
    what: "npm packages",
    stale: dependenciesStale,
    make: installDependencies,
    doing: "installing",
  },
  {
    what: "the engine",
    stale: addonStale,
    make: buildAddon,
    take: takePublishedAddon,
    doing: "compiling",
    hint: firstBuildHint,
  },
  {
    what: "the TypeScript sources",
    stale: typescriptStale,
    make: buildTypescript,
    doing: "compiling",
  },
];

/**
 * `published`: an engine that is not compiled yet may be the one of a platform package, for commands that only
 * run joust.
 */
export async function setup({ published = false } = {}) {
  requireNode(20, 17);
  if (staleParts().length > 0) await exclusively(() => makeStaleParts(published));
}

async function makeStaleParts(published) {
  for (const { what, stale, make, take, doing, hint } of steps) {
    if (!stale()) continue;
    if (published && take?.()) continue;
    console.error(`${doing} ${what}${hint?.() ?? ""}`);
    await make();
  }
}

function staleParts() {
  return steps.filter(({ stale }) => stale()).map(({ what }) => what);
}

function requireNode(major, minor) {
  const [ownMajor, ownMinor] = process.versions.node.split(".").map(Number);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return;
  throw new Error(`Node ${major}.${minor} or newer is needed, this is ${process.versions.node}`);
}

if (import.meta.filename === process.argv[1]) {
  try {
    if (process.argv.includes("--check")) {
      const stale = staleParts();
      for (const what of stale) console.error(`not up to date: ${what}`);
      process.exitCode = stale.length > 0 ? 1 : 0;
    } else {
      await setup();
    }
  } catch (error) {
    console.error(`set-up failed: ${error.message}`);
    process.exitCode = 1;
  }
}
