import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";

/** `process.versions.modules` of Node 20, the oldest version that joust supports. */
const OLDEST_ABI = 115;

/** The packages with builds of uWebSockets.js, development dependencies of joust under the Apache License 2.0. */
const BUILDS = [
  { version: "20.57", dependency: "uws-20-57", binaries: "." },
  { version: "20.30", dependency: "uws-20-30", binaries: "binaries" },
];

/**
 * The binaries of uWebSockets.js in a platform package: those of the platform for the supported versions of Node,
 * each with its source path and its path in the package. None for musl, because no build exists.
 *
 * @param {string} platform `linux-x64-gnu`
 * @returns {{ from: string, to: string }[]}
 */
export function uwsFiles(platform, modules = join(root, "node_modules")) {
  const [os, arch, abi] = platform.split("-");
  if (abi === "musl") return [];
  return BUILDS.flatMap(({ version, dependency, binaries }) => {
    const folder = join(modules, dependency, binaries);
    if (!existsSync(folder)) throw new Error(`${dependency} is not installed: run npm ci`);
    return readdirSync(folder)
      .filter((name) => matches(name, os, arch))
      .map((name) => ({ from: join(folder, name), to: `uws/${version}/${name}` }));
  });
}

function matches(name, os, arch) {
  const [, fileOs, fileArch, abi] = /^uws_([a-z0-9]+)_([a-z0-9]+)_(\d+)\.node$/.exec(name) ?? [];
  return fileOs === os && fileArch === arch && Number(abi) >= OLDEST_ABI;
}

/** The origin and licence of the binaries, a file of the platform package. */
export function uwsNotice(modules = join(root, "node_modules")) {
  const sources = BUILDS.map(({ version, dependency }) => {
    const manifest = readFileSync(join(modules, dependency, "package.json"), "utf8");
    const { name, version: exact, license, repository } = JSON.parse(manifest);
    const url = (repository.url ?? repository).replace(/^git\+|\.git$/g, "");
    return `${version}/ is from the npm package ${name}@${exact} (${license}), ${url}`;
  });
  return `${[
    "uWebSockets.js, its binaries unchanged.",
    "Authored by Alex Hultman, 2018-2025. Intellectual property of third-party.",
    "Licensed under the Apache License, Version 2.0: see the file LICENSE beside this one.",
    "",
    ...sources,
  ].join("\n")}\n`;
}

/** The path of the licence text in one of the packages. */
export const uwsLicence = (modules = join(root, "node_modules")) =>
  join(modules, "uws-20-30", "LICENSE");
