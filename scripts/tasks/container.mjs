import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { tell } from "./counts.mjs";
import { vitest } from "./vitest.mjs";

/** `npm run test:container`: builds the image without a daemon and runs it. Needs root and Debian's buildah. */
export async function run() {
  const config = join(root, "test", "packaging", "vitest.config.ts");
  const counts = await vitest(["--config", config, "container"]);
  console.log();
  tell("vitest", counts);
  return counts.failed > 0 ? 1 : 0;
}
