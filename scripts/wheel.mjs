/** `node scripts/wheel.mjs [DIRECTORY]`: builds the wheel for this platform into DIRECTORY (dist-python). */
import { resolve } from "node:path";
import { setup } from "./setup.mjs";

try {
  await setup();
  // Set-up installs npm packages that it imports.
  const { buildWheel, describeWheel } = await import("./build/wheel.mjs");
  const wheel = buildWheel(resolve(process.argv[2] ?? "dist-python"));
  console.log(`${wheel}\n${describeWheel(wheel)}`);
} catch (error) {
  console.error(`no wheel was built: ${error.message}`);
  process.exitCode = 1;
}
