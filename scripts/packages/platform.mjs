import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseTriple } from "@napi-rs/cli";
import { addonInputs } from "../build/addon.mjs";
import { platform as compiledFor, root } from "../build/paths.mjs";
import { dynamicSymbols, glibcNeeds, MAX_GLIBC } from "./glibc.mjs";
import { compiledKernels, expectedKernels, kernelFaults } from "./kernels.mjs";
import { crateLicences } from "./licences.mjs";
import { publishedRepository } from "./repository.mjs";
import { uwsFiles, uwsLicence, uwsNotice } from "./uws.mjs";

const CRATES = "THIRD-PARTY-LICENSES";

/**
 * The description of the compiled platform by napi.
 *
 * @param {{ napi: { targets: string[] } }} manifest of the main package
 */
export function compiledTarget({ napi }) {
  const targets = napi.targets.map((triple) => parseTriple(triple));
  const target = targets.find(({ platformArchABI }) => platformArchABI === compiledFor);
  if (!target)
    throw new Error(`package.json does not list the platform ${compiledFor} in napi.targets`);
  return target;
}

/**
 * Writes a platform package: the addon, the binaries of uWebSockets.js for the platform, and the licences of both.
 *
 * @param {{
 *   manifest: object,
 *   target: { triple: string, platform: string, arch: string, abi: string | null, platformArchABI: string },
 *   addon: string,
 *   folder: string,
 * }} options `manifest`: of the main package; `target`: the description of the platform by napi
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
  const { name, version, license, engines } = manifest;
  const { platformArchABI: platform } = target;
  return {
    name: `${name}-${platform}`,
    version,
    description: `The engine of ${name}, compiled for ${platform}`,
    license,
    ...publishedRepository(manifest),
    engines,
    main: binary,
    files: [binary, CRATES, ...(hasUws ? ["uws"] : [])],
    os: [target.platform],
    cpu: [target.arch],
    ...(target.abi === "gnu" && { libc: ["glibc"] }),
    ...(target.abi === "musl" && { libc: ["musl"] }),
    // A checkout uses the binary only if its sources have this fingerprint.
    joust: { inputs: addonInputs() },
  };
}

/**
 * Prints the version of glibc that the addon needs, and its SIMD kernels.
 *
 * @returns {string[]} the faults that forbid its publication
 */
export function inspectAddon({ addon, platform, profileDir }) {
  const faults = [];
  if (platform.endsWith("-gnu")) {
    const { newest, above } = glibcNeeds(dynamicSymbols(addon));
    console.log(`glibc: ${newest}`);
    if (above.length > 0) {
      faults.push(
        `the addon needs a newer glibc than ${MAX_GLIBC}: ${above.join(", ")}; set JOUST_TARGET to a target with the suffix .${MAX_GLIBC}`,
      );
    }
  }
  const kernels = compiledKernels(addon, profileDir);
  console.log(`SIMD kernels: ${kernels.join(", ") || "none"}`);
  return [...faults, ...kernelFaults(kernels, expectedKernels(platform))];
}

/** Removes the symbols of a Linux addon, a quarter of its size, if `strip` is installed. */
export function stripAddon(addon) {
  try {
    execFileSync("strip", [addon]);
  } catch (error) {
    console.error(`the addon was not stripped: ${error.message.split("\n", 1)[0]}`);
  }
}
