import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { vitestTask } from "./vitest.mjs";

/** `npm run test:compose`: tests the compose files, and the configuration of HAProxy with two real servers. */
export function run() {
  return vitestTask("--config", join(root, "test", "packaging", "vitest.config.ts"), "compose");
}
