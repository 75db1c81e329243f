/**
 * `node scripts/build/timings.mjs cargo-timing.html [--write]`: prints a report of `cargo build --timings` as the
 * tables of docs/design/build.md. `--write` also writes scripts/build/weights.json, from which a build estimates
 * its remaining time: use the report of a build from an empty target directory.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { criticalPath } from "./critical-path.mjs";
import { root } from "./paths.mjs";
import { SLOW } from "./unoptimised.mjs";

/** Crates in the printed table. */
const TABLE_ROWS = 30;
/** Crates with a weight of their own; the others share one. */
const WEIGHTS = 60;

/**
 * The units of a report: the library of a crate, its build script, and the run of the build script.
 *
 * @param {string} html
 * @returns {{ i: number, name: string, version: string, target: string, start: number, duration: number,
 *   sections: [string, { start: number, end: number }][] | null }[]}
 */
export function unitsOf(html) {
  const [, data] = /^const UNIT_DATA = (\[.*?^\]);$/ms.exec(html) ?? [];
  if (data === undefined) throw new Error("the file is not a report of cargo build --timings");
  return JSON.parse(data);
}

/** Seconds of each crate, slowest first. */
export function secondsByCrate(units) {
  const seconds = new Map();
  for (const { name, duration } of units) seconds.set(name, (seconds.get(name) ?? 0) + duration);
  return [...seconds].sort(([, a], [, b]) => b - a);
}

/** The weights from which a build estimates its remaining time. */
export function weightsOf(units, cores) {
  const crates = secondsByCrate(units);
  const end = Math.max(...units.map(({ start, duration }) => start + duration));
  const all = crates.reduce((sum, [, seconds]) => sum + seconds, 0);
  const serial = crates.filter(([name]) => SLOW.includes(name));
  const last = serial.reduce((sum, [, seconds]) => sum + seconds, 0);
  const slow = crates.slice(0, WEIGHTS).filter(([name]) => !SLOW.includes(name));
  const others = crates.slice(WEIGHTS);
  const rest = others.reduce((sum, [, seconds]) => sum + seconds, 0) / Math.max(1, others.length);
  return {
    cores,
    parallel: rounded((all - last) / (end - last)),
    rest: rounded(rest),
    crates: Object.fromEntries(slow.map(([name, seconds]) => [name, rounded(seconds)])),
  };
}

function metadata() {
  const host = /^host: (.*)$/m.exec(execFileSync("rustc", ["-vV"], { encoding: "utf8" }))?.[1];
  const args = ["metadata", "--format-version", "1", "--filter-platform", host];
  return JSON.parse(
    execFileSync("cargo", args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28 }),
  );
}

const rounded = (number) => Math.round(number * 10) / 10;

function print(units) {
  const crates = secondsByCrate(units);
  const all = crates.reduce((sum, [, seconds]) => sum + seconds, 0);
  const end = Math.max(...units.map(({ start, duration }) => start + duration));
  const path = criticalPath(units, metadata());
  console.log(`units: ${units.length}, crates by name: ${crates.length}`);
  console.log(`sum: ${Math.round(all)} s, wall time: ${Math.round(end)} s`);
  console.log(`critical path: ${Math.round(path.seconds)} s: ${path.names.join(" > ")}\n`);
  console.log("| crate | s | share |\n|---|---|---|");
  for (const [name, seconds] of crates.slice(0, TABLE_ROWS)) {
    console.log(`| ${name} | ${seconds.toFixed(1)} | ${((seconds / all) * 100).toFixed(1)} % |`);
  }
}

if (import.meta.filename === process.argv[1]) {
  const [file, write] = process.argv.slice(2);
  if (!file) throw new Error("pass the path of a report of cargo build --timings");
  const html = readFileSync(file, "utf8");
  const units = unitsOf(html);
  print(units);
  if (write === "--write") {
    const target = join(import.meta.dirname, "weights.json");
    const previous = JSON.parse(readFileSync(target, "utf8"));
    const cores = Number(/ncpu=(\d+)/.exec(html)?.[1]);
    const measured = weightsOf(units, cores);
    // The crates of the workspace are recorded by hand, because a report has only one of their two profiles.
    for (const name of SLOW) measured.crates[name] = previous.crates[name];
    writeFileSync(
      target,
      `${JSON.stringify({ ...measured, unoptimised: previous.unoptimised }, null, 2)}\n`,
    );
  }
}
