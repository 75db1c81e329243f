import { vitestTask } from "./vitest.mjs";

/** `npm run test:steady -- [MINUTES]`: the long form of test/durability/steady, 30 minutes by default. */
export function run([minutes = "30"]) {
  process.env.JOUST_TEST_STEADY_MINUTES = minutes;
  return vitestTask("test/durability/steady");
}
