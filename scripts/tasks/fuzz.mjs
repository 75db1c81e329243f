import { availableParallelism } from "node:os";
import pLimit from "p-limit";
import { buildPrograms } from "../fuzz/build.mjs";
import { runLibFuzzer } from "../fuzz/libfuzzer.mjs";
import { runPageTokens } from "../fuzz/page-tokens.mjs";
import { ENGINE_TARGETS, PAGE_TOKENS, readArguments } from "../fuzz/targets.mjs";

/**
 * `npm run test:fuzz -- MINUTES [TARGET...]`: fuzzes the targets, each for an equal share of the minutes, as many at a
 * time as the machine has processors. Fails if a target has a finding.
 */
export async function run(args) {
  const { seconds, targets } = readArguments(args);
  const engine = targets.filter((target) => ENGINE_TARGETS.includes(target));
  if (engine.length > 0) await buildPrograms(engine);

  const interrupt = new AbortController();
  const onSignal = () => interrupt.abort();
  for (const name of ["SIGINT", "SIGTERM"]) process.on(name, onSignal);
  console.log(`fuzzing ${targets.join(", ")}, each for ${seconds} s`);
  try {
    const limit = pLimit(availableParallelism());
    const outcomes = await Promise.all(
      targets.map((target) => limit(() => fuzz(target, seconds, interrupt.signal))),
    );
    const failed = outcomes.filter((outcome) => outcome?.finding !== undefined);
    console.log(
      failed.length > 0
        ? `fuzz failed: ${failed.map(({ target }) => target).join(", ")}`
        : "fuzz: no findings",
    );
    if (interrupt.signal.aborted) return 130;
    return failed.length > 0 ? 1 : 0;
  } finally {
    for (const name of ["SIGINT", "SIGTERM"]) process.off(name, onSignal);
  }
}

async function fuzz(target, seconds, signal) {
  if (signal.aborted) return undefined;
  const start = target === PAGE_TOKENS ? runPageTokens : runLibFuzzer;
  const outcome = await start(target, seconds, signal);
  const { runs, coverage, finding } = outcome;
  console.log(
    `${target}: ${runs} runs in ${Math.round(outcome.seconds)} s, ${coverage}, ${finding === undefined ? "no finding" : "1 finding"}`,
  );
  if (finding !== undefined) console.log(finding);
  return outcome;
}
