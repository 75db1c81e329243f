import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { vitestTask } from "./vitest.mjs";

/** `npm run test:container`: builds the image without a daemon and runs it. Needs root and Debian's buildah. */
export function run() {
  return vitestTask("--config", join(root, "test", "packaging", "vitest.config.ts"), "container");
}
