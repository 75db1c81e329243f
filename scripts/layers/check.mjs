/** `npm run layers`: the imports of the sources against the layers of `rules.mjs`. Needs no build. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { line, violations } from "./violations.mjs";

const KNOWN = join(root, "scripts", "layers", "known.txt");

/**
 * Reports each violation that `known.txt` does not list, and each line of it that is no longer needed.
 *
 * @returns {number} how many lines it reported
 */
export function checkLayers() {
  const known = knownLines();
  const now = violations(root);
  const lines = new Set(now.map(line));
  const added = now.filter((violation) => !known.has(line(violation)));
  const obsolete = [...known].filter((entry) => !lines.has(entry));
  for (const violation of added) {
    console.error(`${violation.file} must not import ${violation.target}: ${violation.rule}`);
  }
  for (const entry of obsolete) {
    console.error(`${entry}: no longer a violation; run "npm run layers -- --shorten"`);
  }
  return added.length + obsolete.length;
}

/** Removes from `known.txt` what is no longer a violation. Nothing ever adds a line. */
function shortenKnown() {
  const lines = new Set(violations(root).map(line));
  const remaining = [...knownLines()].filter((entry) => lines.has(entry));
  writeFileSync(KNOWN, remaining.map((entry) => `${entry}\n`).join(""));
}

const knownLines = () => new Set(readFileSync(KNOWN, "utf8").split("\n").filter(Boolean));

if (import.meta.filename === process.argv[1]) {
  if (process.argv.includes("--shorten")) shortenKnown();
  else process.exitCode = checkLayers() > 0 ? 1 : 0;
}
