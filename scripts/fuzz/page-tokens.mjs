/**
 * `node scripts/fuzz/page-tokens.mjs SECONDS [SEED]`: checks the properties of page tokens and cursors for generated
 * texts, in the compiled server. The seed of a finding repeats it.
 */
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import fc from "fast-check";
import { PAGE_TOKENS } from "./targets.mjs";
import { tokenCorpus, tokenProperties } from "./token-properties.mjs";

/** Runs of one property with one seed. */
const RUNS = 1000;

/**
 * @param {string} target
 * @param {number} seconds
 * @param {AbortSignal} signal
 * @param {number} [first] the first seed
 * @returns {Promise<import("./libfuzzer.mjs").Outcome>}
 */
export async function runPageTokens(target, seconds, signal, first = Date.now() % 1_000_000) {
  const properties = Object.entries(tokenProperties(await compiledFunctions()));
  const coverage = `${properties.length} properties, first seed ${first}`;
  const began = Date.now();
  const elapsed = () => (Date.now() - began) / 1000;
  let runs = 0;
  for (let seed = first; elapsed() < seconds && !signal.aborted; seed++) {
    for (const [name, property] of properties) {
      const examples = tokenCorpus[name];
      const details = fc.check(property, { seed, numRuns: RUNS, examples });
      runs += details.numRuns;
      if (details.failed) {
        const finding = `${name}: ${fc.defaultReportMessage(details)}\nrepeat it: node scripts/fuzz/page-tokens.mjs 1 ${seed}`;
        return { target, runs, coverage, seconds: elapsed(), finding };
      }
      // Lets signals and the output of the other targets in.
      await eventLoopTurn();
    }
  }
  return { target, runs, coverage, seconds: elapsed(), finding: undefined };
}

async function compiledFunctions() {
  const tokens = await import("../../build/catalog/page-token.js");
  const paging = await import("../../build/api/paging.js");
  const cursors = await import("../../build/operations/rows/change-cursor.js");
  return { ...tokens, ...paging, ...cursors };
}

if (import.meta.filename === process.argv[1]) {
  const [seconds, seed] = process.argv.slice(2).map(Number);
  const signal = new AbortController().signal;
  const { runs, coverage, finding } = await runPageTokens(PAGE_TOKENS, seconds, signal, seed);
  console.log(`${runs} runs, ${coverage}\n${finding ?? "no finding"}`);
  process.exitCode = finding === undefined ? 0 : 1;
}
