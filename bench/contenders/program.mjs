import { spawn } from "node:child_process";
import { processTree, signalAll } from "../measure/processes.mjs";

/** Some programs make Lance log a warning for each query, which would distort the measurement. */
const QUIET = { LANCE_LOG: "error", LANCEDB_LOG: "error", RUST_LOG: "error" };

/** The process ids of running programs. @type {Set<number>} */
const alive = new Set();

// After an interrupted run no server may remain: suspended ones would never end.
process.once("exit", () => {
  for (const pid of alive) signalAll(processTree(pid), "SIGKILL");
});

/**
 * Starts a program to measure. Its standard input and output are pipes; its standard error is inherited.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, quiet?: boolean, cores?: number | undefined }} [options]
 *   `cores`: the number of cores that it may use
 */
export function startProgram(command, args, { env = {}, quiet = false, cores } = {}) {
  const pinned = cores === undefined ? [] : ["taskset", "--cpu-list", `0-${cores - 1}`];
  const [first, ...rest] = /** @type {[string, ...string[]]} */ ([...pinned, command, ...args]);
  const child = spawn(first, rest, {
    env: { ...process.env, ...QUIET, ...env },
    stdio: ["pipe", "pipe", quiet ? "ignore" : "inherit"],
  });
  const pid = child.pid ?? 0;
  if (pid !== 0) alive.add(pid);
  const ended = new Promise((resolve) => {
    child.once("exit", resolve);
    child.once("error", resolve);
  });
  ended.then(() => alive.delete(pid));
  const stop = async () => {
    child.stdin.destroy();
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    // A program that ignores SIGTERM must not delay the benchmark.
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await ended;
    clearTimeout(timer);
  };
  return { child, pid, ended, stop };
}

/**
 * The address that a program prints when it listens.
 *
 * @param {ReturnType<typeof startProgram>} program
 * @returns {Promise<string>}
 */
export function listening({ child, ended }) {
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout.on("data", (chunk) => {
      if (output.length < 65_536) output += chunk;
      const url = /listening on (http:\/\/\S+)/.exec(output)?.[1];
      if (url) resolve(url);
    });
    ended.then((code) => reject(new Error(`it ended with ${code} before it listened`)));
  });
}
