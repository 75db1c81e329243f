import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cargo } from "../../scripts/build/cargo.mjs";
import { fingerprint } from "../../scripts/build/fingerprint.mjs";
import { targetDir } from "../../scripts/build/paths.mjs";

/** Its sources. They contain no code of joust, so that a change of joust does not recompile it. */
const INPUTS = ["Cargo.toml", "Cargo.lock", "crates/joust-core/benches"];
const STAMP = join(targetDir, "lance-in-process.json");

/**
 * The program that runs Lance in process. No other build compiles it.
 *
 * @param {{ build: boolean }} options `build`: compile it if it is stale
 * @returns {Promise<string>} its path
 */
export async function lanceProgram({ build }) {
  const inputs = fingerprint(INPUTS);
  const known = existsSync(STAMP) ? JSON.parse(readFileSync(STAMP, "utf8")) : undefined;
  if (known?.inputs === inputs && existsSync(known.executable)) return known.executable;
  if (!build) throw new Error("its program is not compiled");
  const executable = await compile();
  writeFileSync(STAMP, JSON.stringify({ inputs, executable }));
  return executable;
}

async function compile() {
  let output = "";
  const args = ["build", "--release", "--package", "joust-core", "--bench", "lance_in_process"];
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
    .find(({ target, executable }) => target?.name === "lance_in_process" && executable);
  if (!artifact) throw new Error("cargo did not report the path of its program");
  return artifact.executable;
}
