import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.mjs";
import { SLOW } from "./unoptimised.mjs";

/**
 * The compile time of each crate: the sum of its units, build scripts included. scripts/build/timings.mjs
 * writes the file; docs/design/build.md has the conditions of the measurement.
 *
 * @returns {import("./estimate.mjs").Weights}
 */
export function crateWeights({ quick = false } = {}) {
  const file = join(import.meta.dirname, "weights.json");
  const { unoptimised, ...weights } = JSON.parse(readFileSync(file, "utf8"));
  const crates = quick ? { ...weights.crates, ...unoptimised } : weights.crates;
  return { ...weights, crates, serial: SLOW };
}

/**
 * The crates of the addon: all but joust-fuzz, whose optimisation would take minutes of each build. `npm test` and
 * `npm run lint` compile it too.
 */
export const ADDON_CRATES = ["--workspace", "--exclude", "joust-fuzz"];

/**
 * The names of the crates that a build of the addon compiles. If cargo fails, the names of the table, because
 * the estimate is optional.
 *
 * @param {readonly string[]} flags cargo's flags that choose features or a target
 */
export function crateNames(flags, weights = crateWeights()) {
  const format = ["--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
  try {
    const tree = execFileSync("cargo", ["tree", ...ADDON_CRATES, ...format, ...flags], {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 2 ** 26,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return namesOf(tree);
  } catch {
    return new Set(Object.keys(weights.crates));
  }
}

/** @param {string} tree lines such as `bytes v1.12.1` */
export function namesOf(tree) {
  const lines = tree.split("\n").filter((line) => line !== "");
  return new Set(lines.map((line) => line.split(" ", 1)[0]));
}
