import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

const TIMEOUT_MS = 180_000;

/** Runs a program until it ends; resolves with its exit code and its output. */
export function runToEnd(program, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const printed = collect(child);
    const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, ...printed });
    });
  });
}

/** Starts a program; resolves when `parse` returns a result from its standard output. */
export function startUntil(program, args, options, parse) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const printed = collect(child);
    const ended = new Promise((end) => child.once("close", end));
    const fail = (reason) =>
      reject(new Error(`${program} ${args.join(" ")} ${reason}: ${printed.out}${printed.err}`));
    const timer = setTimeout(() => {
      for (const pid of processTree(child.pid)) signal(pid, "SIGKILL");
      fail("was not ready in time");
    }, TIMEOUT_MS);
    child.once("error", reject);
    ended.then((code) => {
      clearTimeout(timer);
      fail(`ended with ${code}`);
    });
    child.stdout.on("data", () => {
      const result = parse(printed.out);
      if (result === undefined) return;
      clearTimeout(timer);
      resolve({ child, ended, printed, result });
    });
  });
}

function collect(child) {
  const printed = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    printed.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    printed.err += chunk;
  });
  return printed;
}

/** A process and its descendants, from `ps`. */
export function processTree(pid) {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  const rows = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  const pids = [pid];
  for (const parent of pids) {
    pids.push(...rows.filter(([, ppid]) => ppid === parent).map(([child]) => child));
  }
  return pids;
}

/** The command line of a process; empty if it has ended. */
export const commandLine = (pid) =>
  spawnSync("ps", ["-p", String(pid), "-o", "args="], { encoding: "utf8" }).stdout.trim();

/** Sends a signal to a process that may have ended. */
export function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** The files that a process has open or mapped (Linux). */
export function filesOf(pid) {
  const folder = `/proc/${pid}/fd`;
  const open = readdirSync(folder).map((fd) => {
    try {
      return readlinkSync(join(folder, fd));
    } catch {
      return "";
    }
  });
  const mapped = readFileSync(`/proc/${pid}/maps`, "utf8").match(/\/.*$/gm) ?? [];
  return [...new Set([...open, ...mapped])].filter((name) => name.startsWith("/"));
}
