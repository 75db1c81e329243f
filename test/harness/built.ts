import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * vitest's global set-up: the tests run the built server, so a stale build would test outdated code.
 * `npm test` builds first; a plain `npx vitest` fails on a stale build.
 */
export default function assertBuilt(): void {
  const setup = fileURLToPath(new URL("../../scripts/setup.mjs", import.meta.url));
  try {
    execFileSync(process.execPath, [setup, "--check"], { stdio: "inherit" });
  } catch {
    throw new Error("the build is stale: run `npm run build`, or `npm test`, which does it itself");
  }
}
