/**
 * `npm run tidy`: style rules that a program can check. ARCHITECTURE.md and CONTRIBUTING.md give the reasons.
 *
 * - A source file has at most 400 lines.
 * - `src/` uses the terms of the field: `words.json` has the words that it must not use, each with a term.
 * - No file contains a path of a home directory.
 *
 * `--shorten` removes the lines of `known.txt` that are no longer needed. No command adds a line.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { reportFindings, shortenList } from "../tasks/known-findings.mjs";

/** @typedef {import("../tasks/known-findings.mjs").Finding} Finding */

const KNOWN = join(root, "scripts", "tidy", "known.txt");
const MOST_LINES = 400;
const SOURCE = /\.(ts|mjs|js|rs|py|java|sh)$/;
const TEXT = /\.(md|ts|mjs|js|rs|py|java|sh|toml|ya?ml)$/;
const HOME = /(?<![\w.:/-])\/(?:home|Users|root)\/[\w.-]+/;
const TERMS = JSON.parse(readFileSync(join(root, "scripts", "tidy", "words.json"), "utf8"));

/**
 * The faults of the files of a checkout.
 *
 * @param {string} checkout
 * @param {readonly string[]} files paths in the checkout
 * @returns {Finding[]}
 */
export function tidyFindings(checkout, files) {
  return files
    .filter((file) => TEXT.test(file) && existsSync(join(checkout, file)))
    .flatMap((file) => {
      const text = readFileSync(join(checkout, file), "utf8");
      return [...lineCount(file, text), ...words(file, text), ...homes(file, text)].map(
        ([fault, correction]) => {
          const entry = `${file}: ${fault}`;
          return { entry, message: `${entry}: ${correction}` };
        },
      );
    });
}

function lineCount(file, text) {
  if (!SOURCE.test(file) || !/^(src|crates|scripts)\//.test(file)) return [];
  const lines = text.split("\n").length - 1;
  return lines > MOST_LINES ? [["too long", `${lines} lines, at most ${MOST_LINES}`]] : [];
}

/** Words of comments, messages, identifiers and file names: `unsealToken` and `UNSEAL_TOKEN` contain `unseal`. */
function words(file, text) {
  if (!/^src\/.*\.ts$/.test(file)) return [];
  const separated = `${file} ${text}`.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  const used = new Set(separated.match(/[a-z]+/g));
  return Object.keys(TERMS)
    .filter((word) => used.has(word))
    .map((word) => [word, `use ${TERMS[word]}`]);
}

function homes(_file, text) {
  const [path] = HOME.exec(text) ?? [];
  return path === undefined ? [] : [["home directory", `remove the path ${path}`]];
}

/** All files that git does not ignore. */
function filesOfCheckout() {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean);
}

/** @returns {number} how many findings are new or no longer needed in `known.txt` */
export function checkTidy() {
  const findings = tidyFindings(root, filesOfCheckout());
  return reportFindings(findings, KNOWN, "npm run tidy -- --shorten");
}

if (import.meta.filename === process.argv[1]) {
  if (process.argv.includes("--shorten")) {
    shortenList(tidyFindings(root, filesOfCheckout()), KNOWN);
  } else {
    process.exitCode = checkTidy() > 0 ? 1 : 0;
  }
}
