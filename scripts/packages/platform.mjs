import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseTriple } from "@napi-rs/cli";
import { addonInputs } from "../build/addon.mjs";
import { platform as compiledFor, root } from "../build/paths.mjs";
import { dynamicSymbols, glibcNeeds, MOST_GLIBC } from "./glibc.mjs";
import { compiledKernels, expectedKernels, kernelFaults } from "./kernels.mjs";
import { crateLicences } from "./licences.mjs";
import { uwsFiles, uwsLicence, uwsNotice } from "./uws.mjs";

const CRATES = "THIRD-PARTY-LICENSES";

/**
 * napi's description of the platform that is compiled for.
 *
 * @param {{ napi: { targets: string[] } }} manifest the main package's
 */
export function compiledTarget({ napi }) {
  const targets = napi.targets.map((triple) => parseTriple(triple));
  const target = targets.find(({ platformArchABI }) => platformArchABI === compiledFor);
  if (!target) throw new Error(`${compiledFor} is none of the platforms in package.json`);
  return target;
}

/**
 * Writes a platform package: the addon, the builds of uWebSockets.js of its platform, and the licences of both.
 *
 * @param {{
 *   manifest: object,
 *   target: { triple: string, platform: string, arch: string, abi: string | null, platformArchABI: string },
 *   addon: string,
 *   folder: string,
 * }} given `manifest` is the main package's, `target` napi's description of the platform
 */
export function writePlatformPackage({ manifest, target, addon, folder }) {
  const { platformArchABI: platform } = target;
  const binary = basename(addon);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  copyFileSync(addon, join(folder, binary));
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  writeFileSync(join(folder, CRATES), crateLicences(target.triple));
  const uws = uwsFiles(platform);
  for (const { from, to } of uws) {
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    copyFileSync(from, join(folder, to));
  }
  if (uws.length > 0) {
    copyFileSync(uwsLicence(), join(folder, "uws", "LICENSE"));
    writeFileSync(join(folder, "uws", "NOTICE"), uwsNotice());
  }
  const contents = platformManifest(manifest, target, binary, uws.length > 0);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(contents, null, 2)}\n`);
}

function platformManifest(manifest, target, binary, hasUws) {
  const { name, version, license, engines, repository } = manifest;
  const { platformArchABI: platform } = target;
  return {
    name: `${name}-${platform}`,
    version,
    description: `The engine of ${name}, compiled for ${platform}`,
    license,
    ...(repository && { repository }),
    engines,
    main: binary,
    files: [binary, CRATES, ...(hasUws ? ["uws"] : [])],
    os: [target.platform],
    cpu: [target.arch],
    ...(target.abi === "gnu" && { libc: ["glibc"] }),
    ...(target.abi === "musl" && { libc: ["musl"] }),
    // A checkout uses the binary only if it was made from the same sources.
    joust: { inputs: addonInputs() },
  };
}

/**
 * Prints which glibc the addon needs and which SIMD kernels it has.
 *
 * @returns {string[]} what a published package must not have
 */
export function inspectAddon({ addon, platform, profileDir }) {
  const faults = [];
  if (platform.endsWith("-gnu")) {
    const { newest, above } = glibcNeeds(dynamicSymbols(addon));
    console.log(`glibc: ${newest}`);
    if (above.length > 0) {
      faults.push(
        `the addon needs a newer glibc than ${MOST_GLIBC}: ${above.join(", ")}; link it against an older one, as cargo-zigbuild does for the target's name with .${MOST_GLIBC}`,
      );
    }
  }
  const kernels = compiledKernels(addon, profileDir);
  console.log(`SIMD kernels: ${kernels.join(", ") || "none"}`);
  return [...faults, ...kernelFaults(kernels, expectedKernels(platform))];
}

/** Removes the symbols of a Linux addon, where `strip` is installed: they are a quarter of it. */
export function stripAddon(addon) {
  try {
    execFileSync("strip", [addon]);
  } catch (error) {
    console.error(`the addon keeps its symbols: ${error.message.split("\n", 1)[0]}`);
  }
}
