import { join } from "node:path";
import { cargo } from "../build/cargo.mjs";
import { featureFlags } from "../build/features.mjs";
import { root, targetDir } from "../build/paths.mjs";

/**
 * The optimisation of the crates that are instrumented: without it a target runs a few times slower, and more takes
 * minutes of each build. The dependencies are those of the addon.
 */
const OPTIMISATION = ["joust-core", "joust-fuzz"].flatMap((name) => [
  "--config",
  `profile.release.package.${name}.opt-level=1`,
]);

/** The program of a target of the engine. @param {string} name */
export const programOf = (name) => join(targetDir, "release", `fuzz-${name}`);

/**
 * Compiles the programs of some targets of the engine.
 *
 * The whole workspace with one more feature: for a single package, cargo would choose other features of the
 * dependencies and compile Lance again.
 *
 * @param {readonly string[]} names
 */
export async function buildPrograms(names) {
  const programs = names.flatMap((name) => ["--bin", `fuzz-${name}`]);
  const features = [...featureFlags(), "--features", "joust-fuzz/libfuzzer"];
  const command = ["build", "--release", "--workspace", ...programs, ...features, ...OPTIMISATION];
  const code = await cargo(command, {
    env: { RUSTC_WORKSPACE_WRAPPER: join(root, "scripts", "fuzz", "rustc-coverage.sh") },
  });
  if (code !== 0) throw new Error("the targets did not compile: see the errors of cargo above");
}
