import { readFileSync, writeFileSync } from "node:fs";

/**
 * A finding of a check.
 *
 * @typedef {object} Finding
 * @property {string} entry its line in the list of known findings
 * @property {string} message the fault and its location
 */

/**
 * Prints each finding that a list does not contain, and each line of the list that is no longer a finding.
 * So a list can only become shorter.
 *
 * @param {readonly Finding[]} findings
 * @param {string} list the file with the known findings, an entry a line
 * @param {string} shorten the command that removes the obsolete lines
 * @returns {number} how many lines it printed
 */
export function reportFindings(findings, list, shorten) {
  const known = new Set(lines(list));
  const entries = new Set(findings.map(({ entry }) => entry));
  const added = findings.filter(({ entry }) => !known.has(entry));
  const obsolete = [...known].filter((entry) => !entries.has(entry));
  for (const { message } of added) console.error(message);
  for (const entry of obsolete) console.error(`${entry}: no longer a finding; run "${shorten}"`);
  return added.length + obsolete.length;
}

/** Removes the lines of a list that are no longer findings. @param {readonly Finding[]} findings @param {string} list */
export function shortenList(findings, list) {
  const entries = new Set(findings.map(({ entry }) => entry));
  const remaining = lines(list).filter((entry) => entries.has(entry));
  writeFileSync(list, remaining.map((entry) => `${entry}\n`).join(""));
}

const lines = (list) => readFileSync(list, "utf8").split("\n").filter(Boolean);
