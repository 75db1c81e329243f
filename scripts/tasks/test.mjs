import { cargo } from "../build/cargo.mjs";
import { featureFlags } from "../build/features.mjs";
import { SLOW_IN_TESTS, unoptimised } from "../build/unoptimised.mjs";
import { cargoCounts, reportCounts, withExitCode } from "./counts.mjs";
import { vitest } from "./vitest.mjs";

/** `npm test -- [ARGS]`: runs vitest and the Rust tests. With arguments it runs only vitest, which receives them. */
export async function run(args) {
  const suites = { vitest: await vitest(args) };
  if (args.length === 0) suites.cargo = await rustTests();
  return reportCounts(suites);
}

async function rustTests() {
  let output = "";
  // The optimisation of joust-core takes minutes for each test program, because of the futures of Lance.
  const quick = [...featureFlags(), ...unoptimised(...SLOW_IN_TESTS)];
  const code = await cargo(["test", "--release", "--workspace", "--no-fail-fast", ...quick], {
    stdio: ["ignore", "pipe", "inherit"],
    onOutput(chunk) {
      output += chunk;
      process.stdout.write(chunk);
    },
  });
  return withExitCode(cargoCounts(output), code);
}
