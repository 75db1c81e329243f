import { cargo } from "../build/cargo.mjs";
import { featureFlags } from "../build/features.mjs";
import { SLOW, unoptimised } from "../build/unoptimised.mjs";
import { cargoCounts, tell, withExitCode } from "./counts.mjs";
import { vitest } from "./vitest.mjs";

/** All behaviour tests through HTTP and all Rust tests. Arguments go to vitest, which then runs alone. */
export async function run(args) {
  const http = await vitest(args);
  const rust = args.length === 0 ? await rustTests() : undefined;
  console.log();
  tell("vitest", http);
  if (rust) tell("cargo", rust);
  return http.failed + (rust?.failed ?? 0) > 0 ? 1 : 0;
}

async function rustTests() {
  let output = "";
  // What Lance's futures make of joust-core takes minutes to optimise, once for each test program.
  const quick = [...featureFlags(), ...unoptimised(...SLOW)];
  const code = await cargo(["test", "--release", "--workspace", "--no-fail-fast", ...quick], {
    stdio: ["ignore", "pipe", "inherit"],
    onOutput(chunk) {
      output += chunk;
      process.stdout.write(chunk);
    },
  });
  return withExitCode(cargoCounts(output), code);
}
