import { vitestTask } from "./vitest.mjs";

/** `npm run test:crash -- [KILLS]`: the long form of test/durability/crash, with 200 kills by default. */
export function run([kills = "200"]) {
  process.env.JOUST_TEST_KILLS = kills;
  // A kill before every change that an operation makes to the file system.
  process.env.JOUST_TEST_CRASH_PLACES = "1000000";
  return vitestTask("test/durability/crash");
}
