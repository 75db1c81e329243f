import { tell } from "./counts.mjs";
import { vitest } from "./vitest.mjs";

/** `npm run test:steady -- [MINUTES]`: the long form of test/durability/steady, 30 minutes unless told otherwise. */
export async function run([minutes = "30"]) {
  process.env.JOUST_TEST_STEADY_MINUTES = minutes;
  const counts = await vitest(["test/durability/steady"]);
  console.log();
  tell("vitest", counts);
  return counts.failed > 0 ? 1 : 0;
}
