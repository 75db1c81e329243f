import { join } from "node:path";
import { installFolder } from "../build/dependencies.mjs";
import { root } from "../build/paths.mjs";
import { vitestTask } from "./vitest.mjs";

/** `npm run test:chart`: tests the Helm chart. Needs helm, kubeconform and pip, and no engine. */
export function run() {
  const folder = join(root, "test", "packaging");
  installFolder(folder);
  return vitestTask("--config", join(folder, "vitest.config.ts"), "chart");
}

if (import.meta.filename === process.argv[1]) process.exitCode = await run();
