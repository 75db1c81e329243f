import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cargo } from "../../scripts/build/cargo.mjs";
import { fingerprint } from "../../scripts/build/fingerprint.mjs";
import { targetDir } from "../../scripts/build/paths.mjs";

/** Of what it is made: nothing of joust's own, whose changes therefore leave it as it is. */
const INPUTS = ["Cargo.toml", "Cargo.lock", "crates/joust-core/benches"];
const STAMP = join(targetDir, "lance-in-process.json");

/**
 * The program that runs Lance in process, which no other build compiles.
 *
 * @param {{ build: boolean }} options whether it may be compiled when it is stale
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
  if (!artifact) throw new Error("cargo did not say where its program is");
  return artifact.executable;
}
