import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { root } from "../build/paths.mjs";
import { programOf } from "./build.mjs";
import { filesOf } from "./targets.mjs";

/** Limits of one input: memory of the process, seconds, bytes. */
const LIMITS = ["-rss_limit_mb=4096", "-timeout=20", "-max_len=65536"];
/** The end of the output that a finding shows, in lines. */
const SHOWN_LINES = 40;

/**
 * What a target found.
 *
 * @typedef {object} Outcome
 * @property {string} target
 * @property {number} runs
 * @property {string} coverage
 * @property {number} seconds
 * @property {string | undefined} finding a description, with the command that repeats it
 */

/**
 * Runs the program of a target for some seconds. It continues with the corpus of earlier runs.
 *
 * @param {string} target
 * @param {number} seconds
 * @param {AbortSignal} signal ends the program
 * @returns {Promise<Outcome>}
 */
export async function runLibFuzzer(target, seconds, signal) {
  const files = filesOf(target);
  for (const folder of [files.corpus, files.findings]) mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), "joust-fuzz-"));
  const began = Date.now();
  try {
    const { code, output } = await run(
      programOf(target),
      [
        files.corpus,
        files.examples,
        `-dict=${files.dictionary}`,
        `-artifact_prefix=${files.findings}/`,
        `-max_total_time=${seconds}`,
        "-print_final_stats=1",
        ...LIMITS,
      ],
      // The table of a target is in a temporary directory that the program does not remove.
      { log: files.log, env: { ...process.env, TMPDIR: scratch }, signal },
    );
    const outcome = {
      target,
      ...progressOf(output),
      seconds: (Date.now() - began) / 1000,
      finding: undefined,
    };
    if (code === 0 || signal.aborted) return outcome;
    return { ...outcome, finding: describe(target, output, files) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * The number of runs, and the coverage: branches, and branches with their counts, as libFuzzer's `cov` and `ft`.
 *
 * @param {string} output
 */
export function progressOf(output) {
  const lines = [...output.matchAll(/^#(\d+)\s.*?\bcov: (\d+) ft: (\d+)/gm)];
  const [, runs = "0", branches = "0", features = "0"] = lines.at(-1) ?? [];
  const executed = /^stat::number_of_executed_units:\s*(\d+)/m.exec(output)?.[1];
  return { runs: Number(executed ?? runs), coverage: `${branches} branches, ${features} features` };
}

function describe(target, output, files) {
  const tail = output.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
  // Slow inputs are written too, before the one at which the program ended.
  const path = [...output.matchAll(/Test unit written to (\S+)/g)].at(-1)?.[1];
  if (path === undefined) {
    return `the program of ${target} failed without an input; its output is in ${files.log}\n${tail}`;
  }
  const corpus = relative(root, files.examples);
  return [
    tail,
    `the input: ${path}`,
    `repeat it: ${programOf(target)} ${path}`,
    `make it a test, which npm test runs: cp ${path} ${corpus}/NAME`,
  ].join("\n");
}

/** Runs a program, and writes its output to a log; resolves with its exit code and its output. */
function run(program, args, { log, env, signal }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
    const file = createWriteStream(log);
    let output = "";
    const onOutput = (chunk) => {
      output += chunk;
      file.write(chunk);
    };
    // libFuzzer ends at this signal, with an exit code of its own.
    const end = () => child.kill("SIGTERM");
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    child.stdout.on("data", onOutput);
    child.stderr.on("data", onOutput);
    child.once("error", reject);
    child.once("close", (code) => {
      signal.removeEventListener("abort", end);
      file.end();
      resolve({ code: code ?? 1, output });
    });
  });
}
