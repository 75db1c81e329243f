import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { cargo } from "./cargo.mjs";
import { ADDON_CRATES, crateNames, crateWeights } from "./crates.mjs";
import { chosenFeatures, FEATURES, featureFlags } from "./features.mjs";
import { fingerprint, isStamped, stamp } from "./fingerprint.mjs";
import { addonPath, platform, profileDir, root, target, targetDir } from "./paths.mjs";
import { CompileProgress, progressEnvironment, progressFlags } from "./progress.mjs";
import { fetchAddon } from "./published-addon.mjs";
import { cargoBuild, cargoEnvironment } from "./target.mjs";
import { SLOW, unoptimised, wantsUnoptimised } from "./unoptimised.mjs";

const INPUTS = ["Cargo.toml", "Cargo.lock", ".cargo/config.toml", "rust-toolchain.toml"];
/** The addon does not contain it: a new file of its corpus makes no addon stale. */
const FUZZ_CRATE = "joust-fuzz";
const STAMP = join(root, "native", ".stamp");

/** The fingerprint of the sources of the addon. A platform package contains it and matches only equal sources. */
export const addonInputs = () => fingerprint([...INPUTS, ...crateFolders()]);

function crateFolders() {
  const names = readdirSync(join(root, "crates")).filter((name) => name !== FUZZ_CRATE);
  return names.map((name) => `crates/${name}`);
}

export function addonStale() {
  const inputs = addonInputs();
  if (existsSync(addonPath)) return !isStamped(STAMP, stampOf(inputs, wantsUnoptimised()));
  return prebuiltInputs() !== inputs;
}

/** The end of the message before a build that also compiles Lance and its dependencies. */
export function firstBuildHint() {
  const compiled = existsSync(join(targetDir, "release", "deps"));
  return compiled ? "" : ", which takes up to 45 minutes on two cores the first time";
}

/**
 * Downloads the addon of the published platform package, if its version and its sources are those of this
 * checkout. It never replaces a compiled addon.
 *
 * @returns {boolean} whether it wrote the addon
 */
export function downloadAddon() {
  const inputs = addonInputs();
  if (existsSync(addonPath) || !fetchAddon(inputs, addonPath)) return false;
  // An optimised addon also satisfies a request for an unoptimised one.
  stamp(STAMP, stampOf(inputs, wantsUnoptimised()));
  return true;
}

function prebuiltInputs() {
  try {
    return createRequire(join(root, "package.json"))(`joust-${platform}/package.json`).joust.inputs;
  } catch {
    return undefined;
  }
}

/**
 * Compiles the workspace and writes the addon, its loader and its declarations to native/.
 *
 * It does not use `napi build`, which passes `--target` and one package: cargo would compile every dependency
 * a second time, in addition to those for `cargo test`. It calls the functions of @napi-rs/cli that write the
 * loader and the declarations.
 */
export async function buildAddon({ profile = "release" } = {}) {
  const inputs = addonInputs();
  // A published addon is always optimised.
  const quick = profile === "release" && wantsUnoptimised();
  const flags = [...featureFlags(), ...(quick ? unoptimised(...SLOW) : [])];
  const weights = crateWeights({ quick });
  const progress = new CompileProgress({ weights, names: crateNames(featureFlags(), weights) });
  const command = [...cargoBuild(target), "--profile", profile, ...ADDON_CRATES, ...flags];
  const code = await cargo([...command, ...progressFlags], {
    env: { ...progressEnvironment, ...cargoEnvironment(target) },
    stdio: ["ignore", "ignore", "pipe"],
    onOutput: (chunk) => progress.write(chunk),
  });
  progress.end();
  if (code !== 0) throw new Error("the engine did not compile: see the errors of cargo above");

  // Replaced by a rename, because a running server maps the old file.
  const fresh = `${addonPath}.${process.pid}`;
  copyFileSync(join(profileDir(profile), libraryName()), fresh);
  renameSync(fresh, addonPath);
  await writeBindings();
  stamp(STAMP, stampOf(inputs, quick));
}

/** The stamp of an addon: its sources and how they are compiled. */
function stampOf(inputs, quick) {
  const features = chosenFeatures();
  const stores = features.length < FEATURES.length ? ["stores:", ...features] : [];
  return [inputs, ...(quick ? ["unoptimised"] : []), ...stores].join(" ");
}

function libraryName() {
  if (platform.startsWith("win32")) return "joust_node.dll";
  return platform.startsWith("darwin") ? "libjoust_node.dylib" : "libjoust_node.so";
}

/** Writes native/index.js and native/index.d.ts if the compilation wrote new type definitions. */
async function writeBindings() {
  const definitions = join(root, "native", "typedefs", "joust-node");
  const declarations = join(root, "native", "index.d.ts");
  const outputDir = join(root, "native");
  if (!existsSync(definitions) || isNewer(declarations, definitions)) return;

  const { generateTypeDef, writeJsBinding } = await import("@napi-rs/cli");
  const { name, version, napi } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const typeDefDir = join(outputDir, "typedefs");
  const { dts, exports } = await generateTypeDef({ typeDefDir, cwd: root, constEnum: false });
  writeFileSync(declarations, dts);
  await writeJsBinding({
    platform: true,
    format: "esm",
    idents: exports,
    binaryName: napi.binaryName,
    packageName: name,
    version,
    outputDir,
  });
}

function isNewer(file, than) {
  return existsSync(file) && statSync(file).mtimeMs > statSync(than).mtimeMs;
}
