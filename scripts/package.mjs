/**
 * Prepares the npm packages for publication.
 *
 * `platform`: compiles the addon with the profile `dist`, for this machine or for JOUST_TARGET, and writes its
 * package to native/npm/<platform>/. It fails if the addon needs a newer glibc than documented or lacks a SIMD
 * kernel. `platform --profile release` uses the addon of `npm run build`, and only prints these faults unless
 * `--enforce` is given.
 *
 * `main`: adds the platform packages to package.json. Only a release does this.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { parseTriple } from "@napi-rs/cli";
import { addonStale, buildAddon } from "./build/addon.mjs";
import { addonPath, platform, profileDir, root } from "./build/paths.mjs";
import { publishedManifest } from "./packages/main-manifest.mjs";
import {
  compiledTarget,
  inspectAddon,
  stripAddon,
  writePlatformPackage,
} from "./packages/platform.mjs";

const manifestPath = join(root, "package.json");
const manifest = JSON.parse(readFileSync(manifestPath, "utf8"));

const kinds = { platform: platformPackage, main: listPlatformPackages };
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    profile: { type: "string", default: "dist" },
    enforce: { type: "boolean", default: false },
  },
});
const kind = kinds[positionals[0]];
if (!kind) throw new Error(`the first argument must be one of ${Object.keys(kinds).join(", ")}`);
await kind(values);

async function platformPackage({ profile, enforce }) {
  if (profile !== "dist" && profile !== "release") {
    throw new Error(`--profile must be dist or release, got "${profile}"`);
  }
  const target = compiledTarget(manifest);
  if (profile === "dist") await buildAddon({ profile });
  else if (addonStale()) throw new Error("the engine is stale: run npm run build");

  const faults = inspectAddon({ addon: addonPath, platform, profileDir: profileDir(profile) });
  for (const fault of faults) console.error(fault);
  if (faults.length > 0 && (enforce || profile === "dist")) {
    process.exitCode = 1;
    return;
  }
  const folder = join(root, "native", "npm", platform);
  writePlatformPackage({ manifest, target, addon: addonPath, folder });
  // The profile `dist` strips the addon.
  if (profile === "release" && target.platform === "linux") {
    stripAddon(join(folder, basename(addonPath)));
  }
  console.log(folder);
}

function listPlatformPackages() {
  const platforms = manifest.napi.targets.map((triple) => parseTriple(triple).platformArchABI);
  const published = publishedManifest(manifest, platforms);
  writeFileSync(manifestPath, `${JSON.stringify(published, null, 2)}\n`);
}
