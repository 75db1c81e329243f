import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * vitest's global set-up: the tests drive the built server, so a stale build would test other code
 * than the reader sees. `npm test` builds first; a bare `npx vitest` must not go on without.
 */
export default function assertBuilt(): void {
  const setup = fileURLToPath(new URL("../../scripts/setup.mjs", import.meta.url));
  try {
    execFileSync(process.execPath, [setup, "--check"], { stdio: "inherit" });
  } catch {
    throw new Error("the build is stale: run `npm run build`, or `npm test`, which does it itself");
  }
}
