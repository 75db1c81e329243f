import { join } from "node:path";
import { installFolder } from "../../build/dependencies.mjs";
import { root } from "../../build/paths.mjs";
import { command } from "../command.mjs";
import { add, noTests } from "../counts.mjs";
import { vitest } from "../vitest.mjs";

/** Tests the LanceDB SDK. It has its own package.json, because the SDK needs an older apache-arrow. */
export async function nodeClients() {
  const folder = join(root, "test", "clients", "node");
  installFolder(folder);
  const counts = await vitest(["--config", join(folder, "vitest.config.ts")]);
  // `npm run lint` does not check these files, because it does not install their packages.
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const typed = (await command(process.execPath, [tsc, "--project", folder])) === 0;
  const mistyped = { ...noTests, failed: 1, failures: ["the tests' types"] };
  return { Node: typed ? counts : add(counts, mistyped) };
}
