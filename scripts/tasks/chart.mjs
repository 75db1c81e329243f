import { join } from "node:path";
import { installFolder } from "../build/dependencies.mjs";
import { root } from "../build/paths.mjs";
import { tell } from "./counts.mjs";
import { vitest } from "./vitest.mjs";

/** `npm run test:chart`: the Helm chart. Needs helm, kubeconform and pip, and no engine. */
export async function run() {
  const folder = join(root, "test", "packaging");
  installFolder(folder);
  const counts = await vitest(["--config", join(folder, "vitest.config.ts"), "chart"]);
  console.log();
  tell("vitest", counts);
  return counts.failed > 0 ? 1 : 0;
}

if (import.meta.filename === process.argv[1]) process.exitCode = await run();
