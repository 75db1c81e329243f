import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { root, targetDir } from "./paths.mjs";
import { claimTarget } from "./shared-target.mjs";

/** @type {NodeJS.ProcessEnv | undefined} */
let environment;

/**
 * The environment of every cargo call of this repository. It must always be the same: cargo recompiles the
 * Lance crates when the path of protoc changes.
 */
export function cargoEnvironment() {
  environment ??= prepare();
  return environment;
}

/** @returns {NodeJS.ProcessEnv} */
function prepare() {
  mkdirSync(join(root, "native", "typedefs"), { recursive: true });
  claimTarget(targetDir, root);
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, CARGO_TARGET_DIR: targetDir };
  env.PROTOC ??= protoc(env);
  return env;
}

/** @param {NodeJS.ProcessEnv} env */
function protoc(env) {
  const args = ["run", "--quiet", "--release", "--package", "protoc-path"];
  try {
    const output = execFileSync("cargo", args, {
      cwd: root,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    return output.toString().trim();
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ENOENT") throw error;
    throw new Error("cargo was not found: install Rust 1.94 or newer from https://rustup.rs");
  }
}

/**
 * Runs cargo and resolves with its exit code. `onOutput(chunk)` receives the output of the streams that
 * `options.stdio` makes pipes.
 *
 * @param {readonly string[]} args
 * @param {{
 *   env?: NodeJS.ProcessEnv,
 *   stdio?: import("node:child_process").StdioOptions,
 *   onOutput?: (chunk: Buffer) => void,
 * }} [options]
 * @returns {Promise<number>}
 */
export function cargo(args, { env = {}, stdio = "inherit", onOutput = () => {} } = {}) {
  return new Promise((resolve, reject) => {
    const options = { cwd: root, env: { ...cargoEnvironment(), ...env }, stdio };
    const child = spawn("cargo", args, options);
    child.stdout?.on("data", onOutput);
    child.stderr?.on("data", onOutput);
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
}
