import { tell } from "./counts.mjs";
import { vitest } from "./vitest.mjs";

/** `npm run test:crash -- [KILLS]`: the long form of test/durability/crash, 200 kills unless told otherwise. */
export async function run([kills = "200"]) {
  process.env.JOUST_TEST_KILLS = kills;
  // Before every one of the changes that an operation makes to the file system.
  process.env.JOUST_TEST_CRASH_PLACES = "1000000";
  const counts = await vitest(["test/durability/crash"]);
  console.log();
  tell("vitest", counts);
  return counts.failed > 0 ? 1 : 0;
}
