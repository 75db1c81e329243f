import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cargo } from "../../scripts/build/cargo.mjs";
import { fingerprint } from "../../scripts/build/fingerprint.mjs";
import { targetDir } from "../../scripts/build/paths.mjs";

/**
 * A program of `crates/joust-core/benches`. Only the benchmark runs it.
 *
 * @param {{ name: string, inputs: readonly string[], build: boolean }} program `inputs`: the files and folders that
 *   the program consists of; `build`: compile it if they changed
 * @returns {Promise<string>} its path
 */
export async function rustProgram({ name, inputs, build }) {
  const sources = fingerprint(["Cargo.toml", "Cargo.lock", ...inputs]);
  const stamp = join(targetDir, `${name.replaceAll("_", "-")}.json`);
  const known = existsSync(stamp) ? JSON.parse(readFileSync(stamp, "utf8")) : undefined;
  if (known?.inputs === sources && existsSync(known.executable)) return known.executable;
  if (!build) throw new Error("its program is not compiled");
  const executable = await compile(name);
  writeFileSync(stamp, JSON.stringify({ inputs: sources, executable }));
  return executable;
}

/** @param {string} name */
async function compile(name) {
  let output = "";
  // For the package alone, cargo would choose other features, and compile Lance a second time.
  const args = ["build", "--release", "--workspace", "--bench", name];
  const code = await cargo([...args, "--message-format", "json-render-diagnostics"], {
    stdio: ["ignore", "pipe", "inherit"],
    onOutput: (chunk) => {
      output += chunk;
    },
  });
  if (code !== 0) throw new Error("its program did not compile");
  const messages = output.split("\n").filter((line) => line.startsWith("{"));
  const artifact = messages
    .map((line) => JSON.parse(line))
    .find(({ target, executable }) => target?.name === name && executable);
  if (!artifact) throw new Error("cargo did not report the path of its program");
  return artifact.executable;
}
