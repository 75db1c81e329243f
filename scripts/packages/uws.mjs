import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";

/** Node's ABI number of the oldest version that joust runs on (20). */
const OLDEST_ABI = 115;

/** The builds of uWebSockets.js, development dependencies of joust. Both are under the Apache License 2.0. */
const BUILDS = [
  { version: "20.57", dependency: "uws-20-57", binaries: "." },
  { version: "20.30", dependency: "uws-20-30", binaries: "binaries" },
];

/**
 * What a platform package carries of uWebSockets.js: each file of its platform and of a Node that joust runs
 * on, where it is and where it goes. None for musl, for which no build exists.
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
      .filter((name) => isOf(name, os, arch))
      .map((name) => ({ from: join(folder, name), to: `uws/${version}/${name}` }));
  });
}

function isOf(name, os, arch) {
  const [, ofOs, ofArch, abi] = /^uws_([a-z0-9]+)_([a-z0-9]+)_(\d+)\.node$/.exec(name) ?? [];
  return ofOs === os && ofArch === arch && Number(abi) >= OLDEST_ABI;
}

/** Where the files come from, and under which licence: beside them in the package. */
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

/** The text of the Apache License as one of the builds has it. */
export const uwsLicence = (modules = join(root, "node_modules")) =>
  join(modules, "uws-20-30", "LICENSE");
