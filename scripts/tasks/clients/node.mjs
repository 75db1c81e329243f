import { join } from "node:path";
import { installFolder } from "../../build/dependencies.mjs";
import { root } from "../../build/paths.mjs";
import { vitest } from "../vitest.mjs";

/** The SDK wants an older apache-arrow than the other tests, so it has a package of its own. */
export function nodeClients() {
  const folder = join(root, "test", "clients", "node");
  installFolder(folder);
  return vitest(["--config", join(folder, "vitest.config.ts")]);
}
