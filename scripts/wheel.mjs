/** `node scripts/wheel.mjs [DIRECTORY]`: builds the wheel for this platform in DIRECTORY, by default dist-python. */
import { resolve } from "node:path";
import { setup } from "./setup.mjs";

try {
  await setup();
  // Imported after the set-up, which installs the npm packages for it.
  const { buildWheel, describeWheel } = await import("./build/wheel.mjs");
  const wheel = buildWheel(resolve(process.argv[2] ?? "dist-python"));
  console.log(`${wheel}\n${describeWheel(wheel)}`);
} catch (error) {
  console.error(`the build of the wheel failed: ${error.message}`);
  process.exitCode = 1;
}
