import { spawnSync } from "node:child_process";
import { rustProgram } from "../measure/rust-program.mjs";

/**
 * The table that `crates/joust-core/benches/weighted_cache.rs` prints.
 *
 * @returns {Promise<string>}
 */
export async function compareCaches() {
  const program = await rustProgram({
    name: "weighted_cache",
    inputs: [
      "crates/joust-core/benches/weighted_cache.rs",
      "crates/joust-core/src/weighted_cache.rs",
    ],
    build: true,
  });
  const { status, stdout, stderr } = spawnSync(program, { encoding: "utf8" });
  if (status !== 0) throw new Error(`the comparison of caches failed: ${stderr}`);
  return stdout.trimEnd();
}
