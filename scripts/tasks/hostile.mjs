import { parseArgs } from "node:util";
import { vitestTask } from "./vitest.mjs";

/**
 * `npm run test:hostile -- [REQUESTS] [--seed N] [--at INDEX] [--server NAME]`: the long form of test/hostile, with a
 * million requests by default. `--at` repeats one request of a seed.
 */
export function run(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { seed: { type: "string" }, at: { type: "string" }, server: { type: "string" } },
  });
  const seed = values.seed ?? String(Date.now() % 2 ** 31);
  console.log(`JOUST_TEST_SEED=${seed}`);
  process.env.JOUST_TEST_SEED = seed;
  process.env.JOUST_TEST_HOSTILE_REQUESTS = positionals[0] ?? "1000000";
  if (values.at !== undefined) process.env.JOUST_TEST_HOSTILE_AT = values.at;
  if (values.server !== undefined) process.env.JOUST_TEST_HOSTILE_SERVER = values.server;
  return vitestTask("test/hostile", "--project", "joust");
}
