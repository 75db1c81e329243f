/**
 * `npm run layers`: compares the imports of the sources with the layers of `rules.mjs`. Needs no build.
 * `--shorten` removes the lines of `known.txt` that are no longer needed. No command adds a line.
 */
import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { reportFindings, shortenList } from "../tasks/known-findings.mjs";
import { cycles } from "./cycles.mjs";
import { rustSources, typescriptSources } from "./sources.mjs";
import { rustViolations, typescriptViolations } from "./violations.mjs";

const KNOWN = join(root, "scripts", "layers", "known.txt");

/** The forbidden imports and the import cycles of a checkout. @param {string} checkout */
export function layerFindings(checkout) {
  const [rust, typescript] = [rustSources(checkout), typescriptSources(checkout)];
  return {
    violations: [...rustViolations(rust), ...typescriptViolations(typescript)],
    cycles: [...cycles(rust), ...cycles(typescript)],
  };
}

/** @returns {number} how many findings are new or no longer needed in `known.txt` */
export function checkLayers() {
  const { violations, cycles } = layerFindings(root);
  console.log(`layers: ${violations.length} forbidden imports, ${cycles.length} modules in cycles`);
  return reportFindings([...violations, ...cycles], KNOWN, "npm run layers -- --shorten");
}

if (import.meta.filename === process.argv[1]) {
  const { violations, cycles } = layerFindings(root);
  if (process.argv.includes("--shorten")) shortenList([...violations, ...cycles], KNOWN);
  else process.exitCode = checkLayers() > 0 ? 1 : 0;
}
