import { join } from "node:path";
import { installFolder } from "../../build/dependencies.mjs";
import { root } from "../../build/paths.mjs";
import { command } from "../command.mjs";
import { add, nothing } from "../counts.mjs";
import { vitest } from "../vitest.mjs";

/** The LanceDB SDK. It wants an older apache-arrow than the other tests: a package of its own. */
export async function nodeClients() {
  const folder = join(root, "test", "clients", "node");
  installFolder(folder);
  const counts = await vitest(["--config", join(folder, "vitest.config.ts")]);
  // `npm run lint` leaves these files out: their packages are not installed then.
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const typed = (await command(process.execPath, [tsc, "--project", folder])) === 0;
  return typed ? counts : add(counts, { ...nothing, failed: 1, failures: ["the tests' types"] });
}
