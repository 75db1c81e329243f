import { join } from "node:path";
import { cargo } from "../build/cargo.mjs";
import { featureFlags } from "../build/features.mjs";
import { root } from "../build/paths.mjs";
import { SLOW_IN_TESTS, unoptimised } from "../build/unoptimised.mjs";
import { checkLayers } from "../layers/check.mjs";
import { checkTidy } from "../tidy/check.mjs";
import { command } from "./command.mjs";
import { checkLockFile } from "./lock-file.mjs";
import { whenInstalled } from "./when-installed.mjs";

const bin = (path) => join(root, "node_modules", ...path.split("/"));
const node = (path, ...args) => command(process.execPath, [bin(path), ...args]);

const ACTIONLINT = "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";
/** Without advisories, which need a download: the hosted CI checks them. */
const DENY = ["--locked", "check", "bans", "licenses", "sources"];

const checks = {
  "package-lock.json": checkLockFile,
  "biome (format and lint)": () => node("@biomejs/biome/bin/biome", "check", "--error-on-warnings"),
  "types of the sources": () => node("typescript/bin/tsc", "--noEmit", "--project", root),
  "types of the benchmark": () => node("typescript/bin/tsc", "--project", join(root, "bench")),
  "types of the tests": () => node("typescript/bin/tsc", "--project", join(root, "test")),
  layers: checkLayers,
  tidy: checkTidy,
  "workflows (actionlint)": () => whenInstalled("actionlint", [], ACTIONLINT),
  "crates (cargo-deny)": () => whenInstalled("cargo-deny", DENY, "cargo install cargo-deny"),
  rustfmt: () => cargo(["fmt", "--all", "--check"]),
  clippy,
};

/**
 * Runs clippy as the compiler of the workspace crates, without optimisation. `cargo clippy` would check every
 * dependency again; as a compiler, clippy shares the compiled dependencies with the build.
 */
function clippy() {
  const quick = [...featureFlags(), ...unoptimised(...SLOW_IN_TESTS, "joust-text", "protoc-path")];
  return cargo(["build", "--quiet", "--release", "--workspace", "--all-targets", ...quick], {
    env: { RUSTC_WORKSPACE_WRAPPER: "clippy-driver", CLIPPY_ARGS: "-Dwarnings" },
  });
}

/** Runs all checks, also after a failed one. */
export async function run() {
  const failed = [];
  for (const [name, check] of Object.entries(checks)) {
    if ((await check()) !== 0) failed.push(name);
  }
  console.log(failed.length > 0 ? `lint failed: ${failed.join(", ")}` : "lint: all clean");
  return failed.length;
}
