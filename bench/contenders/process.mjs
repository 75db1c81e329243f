import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { signalAll, tree } from "../measure/processes.mjs";

/** Lance logs a warning for each query of some programs, which would be measured too. */
const QUIET = { LANCE_LOG: "error", LANCEDB_LOG: "error", RUST_LOG: "error" };

/** Programs that have not ended yet. @type {Set<number>} */
const alive = new Set();

// Whoever interrupts a run must not be left with servers, half of which are stopped and would stay so.
process.once("exit", () => {
  for (const pid of alive) signalAll(tree(pid), "SIGKILL");
});

/**
 * A program that is measured. Its standard input and output are pipes; what it complains of is shown.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, quiet?: boolean, cores?: number | undefined }} [options]
 *   `cores`: it may use the first ones only
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
    // What ignores the request has no say in how long the benchmark takes.
    const impatient = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await ended;
    clearTimeout(impatient);
  };
  return { child, pid, ended, stop };
}

/**
 * The address that a program says it listens on.
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

/** A port of this machine that nobody listens on now. @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}
