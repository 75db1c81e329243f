/**
 * `node scripts/build/timings.mjs cargo-timing.html [--write]`: what `cargo build --timings` reports, as the
 * tables of docs/design/build.md. `--write` also makes scripts/build/weights.json of it, by which a build
 * estimates the time left: use a build from an empty target directory.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { criticalPath } from "./critical-path.mjs";
import { root } from "./paths.mjs";
import { SLOW } from "./unoptimised.mjs";

const IN_TABLE = 30;
const WEIGHTS = 60;

/**
 * The units of a report: a crate's library, its build script, and the run of that.
 *
 * @param {string} html
 * @returns {{ i: number, name: string, version: string, target: string, start: number, duration: number,
 *   sections: [string, { start: number, end: number }][] | null }[]}
 */
export function unitsOf(html) {
  const [, data] = /^const UNIT_DATA = (\[.*?^\]);$/ms.exec(html) ?? [];
  if (data === undefined) throw new Error("the file is no report of cargo build --timings");
  return JSON.parse(data);
}

/** Seconds of each crate, the slowest first. */
export function secondsByCrate(units) {
  const seconds = new Map();
  for (const { name, duration } of units) seconds.set(name, (seconds.get(name) ?? 0) + duration);
  return [...seconds].sort(([, a], [, b]) => b - a);
}

/** What a build estimates the time left by. */
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
  console.log(`sum: ${Math.round(all)} s, from first to last: ${Math.round(end)} s`);
  console.log(`critical path: ${Math.round(path.seconds)} s: ${path.names.join(" > ")}\n`);
  console.log("| crate | s | share |\n|---|---|---|");
  for (const [name, seconds] of crates.slice(0, IN_TABLE)) {
    console.log(`| ${name} | ${seconds.toFixed(1)} | ${((seconds / all) * 100).toFixed(1)} % |`);
  }
}

if (import.meta.filename === process.argv[1]) {
  const [file, write] = process.argv.slice(2);
  if (!file) throw new Error("name the report that cargo build --timings wrote");
  const html = readFileSync(file, "utf8");
  const units = unitsOf(html);
  print(units);
  if (write === "--write") {
    const target = join(import.meta.dirname, "weights.json");
    const kept = JSON.parse(readFileSync(target, "utf8"));
    const cores = Number(/ncpu=(\d+)/.exec(html)?.[1]);
    const measured = weightsOf(units, cores);
    // The crates of the workspace are recorded by hand: a report has them either optimised or not.
    for (const name of SLOW) measured.crates[name] = kept.crates[name];
    writeFileSync(
      target,
      `${JSON.stringify({ ...measured, unoptimised: kept.unoptimised }, null, 2)}\n`,
    );
  }
}
