import {
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { cargo } from "./cargo.mjs";
import { crateNames, crateWeights } from "./crates.mjs";
import { chosenFeatures, FEATURES, featureFlags } from "./features.mjs";
import { fingerprint, isStamped, stamp } from "./fingerprint.mjs";
import { addonPath, platform, profileDir, root, target, targetDir } from "./paths.mjs";
import { CompileProgress, progressEnvironment, progressFlags } from "./progress.mjs";
import { fetchAddon } from "./published.mjs";
import { cargoBuild } from "./target.mjs";
import { SLOW, unoptimised, wantsUnoptimised } from "./unoptimised.mjs";

const INPUTS = ["Cargo.toml", "Cargo.lock", ".cargo/config.toml", "rust-toolchain.toml", "crates"];
const STAMP = join(root, "native", ".stamp");

/** What the addon is made from; prebuilt packages carry it, so that only one that fits is used. */
export const addonInputs = () => fingerprint(INPUTS);

export function addonStale() {
  const inputs = addonInputs();
  if (existsSync(addonPath)) return !isStamped(STAMP, made(inputs, wantsUnoptimised()));
  return prebuiltInputs() !== inputs;
}

/** What a first build should be told; lance and its dependencies are compiled once. */
export function firstBuildHint() {
  const compiled = existsSync(join(targetDir, "release", "deps"));
  return compiled ? "" : ", which takes up to 45 minutes on two cores this first time";
}

/**
 * Takes the addon of the published platform package, where one of this version was made from exactly these
 * sources; false where there is none. Nothing that is compiled already is replaced.
 */
export function takePublishedAddon() {
  const inputs = addonInputs();
  if (existsSync(addonPath) || !fetchAddon(inputs, addonPath)) return false;
  // An optimised addon also serves where an unoptimised one is enough.
  stamp(STAMP, made(inputs, wantsUnoptimised()));
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
 * Compiles the workspace and puts the addon, its loader and its declarations into native/.
 *
 * Not with `napi build`: that passes `--target` and one package, and so would compile every
 * dependency a second time beside those that `cargo test` uses. The parts of @napi-rs/cli that
 * make the loader and the declarations are called here instead.
 */
export async function buildAddon({ profile = "release" } = {}) {
  const inputs = addonInputs();
  // What is published is always optimised.
  const quick = profile === "release" && wantsUnoptimised();
  const flags = [...featureFlags(), ...(quick ? unoptimised(...SLOW) : [])];
  const weights = crateWeights({ quick });
  const progress = new CompileProgress({ weights, names: crateNames(featureFlags(), weights) });
  const command = [...cargoBuild(target), "--profile", profile, "--workspace", ...flags];
  const code = await cargo([...command, ...progressFlags], {
    env: progressEnvironment,
    stdio: ["ignore", "ignore", "pipe"],
    onOutput: (chunk) => progress.write(chunk),
  });
  progress.end();
  if (code !== 0) throw new Error("the engine did not compile; see cargo's message above");

  // A rename, because a running server has the old file mapped.
  const fresh = `${addonPath}.${process.pid}`;
  copyFileSync(join(profileDir(profile), libraryName()), fresh);
  renameSync(fresh, addonPath);
  await writeBindings();
  stamp(STAMP, made(inputs, quick));
}

/** The ways to compile it are taken for different addons. */
function made(inputs, quick) {
  const features = chosenFeatures();
  const some = features.length < FEATURES.length ? ["stores:", ...features] : [];
  return [inputs, ...(quick ? ["unoptimised"] : []), ...some].join(" ");
}

function libraryName() {
  if (platform.startsWith("win32")) return "joust_node.dll";
  return platform.startsWith("darwin") ? "libjoust_node.dylib" : "libjoust_node.so";
}

/** Writes native/index.js and native/index.d.ts when the macros have described the addon anew. */
async function writeBindings() {
  const described = join(root, "native", "typedefs", "joust-node");
  const declarations = join(root, "native", "index.d.ts");
  const outputDir = join(root, "native");
  if (!existsSync(described) || isNewer(declarations, described)) return;

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
