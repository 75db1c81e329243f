import { homedir } from "node:os";
import { join } from "node:path";
import { root } from "../build/paths.mjs";

/** The targets in crates/joust-fuzz, each with a program `fuzz-NAME`. */
export const ENGINE_TARGETS = ["ipc", "query", "condition", "sql", "text"];
/** The target in TypeScript, which fast-check runs. */
export const PAGE_TOKENS = "page-tokens";
export const TARGETS = [...ENGINE_TARGETS, PAGE_TOKENS];

/** Corpora that grow, findings and logs: outside of the checkout, so that later runs continue with them. */
const CACHE = join(homedir(), ".cache", "joust", "fuzz");

/** The files of a target of the engine. @param {string} name */
export function filesOf(name) {
  const crate = join(root, "crates", "joust-fuzz");
  return {
    /** The checked-in examples. */
    examples: join(crate, "corpus", name),
    dictionary: join(crate, "dictionaries", `${name}.dict`),
    corpus: join(CACHE, name, "corpus"),
    findings: join(CACHE, name, "findings"),
    log: join(CACHE, name, "log"),
  };
}

/**
 * Reads the arguments of `npm run test:fuzz -- MINUTES [TARGET...]`.
 *
 * @param {readonly string[]} args
 * @returns {{ seconds: number, targets: string[] }} the seconds of each target
 */
export function readArguments([minutes, ...names]) {
  const number = Number(minutes);
  if (!minutes || !Number.isFinite(number) || number <= 0) {
    throw new Error(
      `pass the minutes to fuzz, a number greater than 0, as in npm run test:fuzz -- 10${minutes ? `; "${minutes}" is none` : ""}`,
    );
  }
  const unknown = names.find((name) => !TARGETS.includes(name));
  if (unknown !== undefined) {
    throw new Error(`"${unknown}" is not a target; the targets are ${TARGETS.join(", ")}`);
  }
  const targets = names.length > 0 ? TARGETS.filter((name) => names.includes(name)) : TARGETS;
  return { seconds: Math.max(1, Math.round((number * 60) / targets.length)), targets };
}
