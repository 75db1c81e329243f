import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { tell } from "./counts.mjs";
import { vitest } from "./vitest.mjs";

/** `npm run test:compose`: the compose files, and HAProxy's configuration before two real servers. */
export async function run() {
  const config = join(root, "test", "packaging", "vitest.config.ts");
  const counts = await vitest(["--config", config, "compose"]);
  console.log();
  tell("vitest", counts);
  return counts.failed > 0 ? 1 : 0;
}
