import { execFileSync } from "node:child_process";

/** The newest glibc that a published addon may need: that of Debian 10, RHEL 8 and Ubuntu 18.10. */
export const MAX_GLIBC = "2.28";

/**
 * The versions of glibc that a binary needs, oldest first, each with its symbols.
 *
 * @param {string} table the output of `objdump -T`
 * @returns {Map<string, string[]>}
 */
export function glibcSymbols(table) {
  const needed = new Map();
  for (const line of table.split("\n")) {
    const [, version, symbol] = /\*UND\*.*\(GLIBC_(\d+(?:\.\d+)+)\)\s+(\S+)/.exec(line) ?? [];
    if (version === undefined) continue;
    needed.set(version, [...(needed.get(version) ?? []), symbol]);
  }
  return new Map([...needed].sort(([a], [b]) => compareVersions(a, b)));
}

/**
 * The newest version of glibc that a binary needs, and the symbols that need one above `max`, such as
 * `hypot (GLIBC_2.35)`.
 *
 *
 * @param {string} table the output of `objdump -T`
 */
export function glibcNeeds(table, max = MAX_GLIBC) {
  const needed = glibcSymbols(table);
  const newest = [...needed.keys()].at(-1);
  if (newest === undefined) throw new Error("objdump lists no symbol of glibc");
  const above = [...needed]
    .filter(([version]) => compareVersions(version, max) > 0)
    .flatMap(([version, symbols]) => symbols.map((symbol) => `${symbol} (GLIBC_${version})`));
  return { newest, above };
}

/** The dynamic symbols of a binary, of any architecture. */
export function dynamicSymbols(file) {
  return execFileSync("objdump", ["-T", file], { encoding: "utf8", maxBuffer: 2 ** 28 });
}

function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  const at = left.findIndex((part, index) => part !== (right[index] ?? 0));
  if (at < 0) return left.length - right.length;
  return left[at] - (right[at] ?? 0);
}
