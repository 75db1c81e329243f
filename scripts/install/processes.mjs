import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

const PATIENCE_MS = 180_000;

/** Runs a program to its end; its exit code and what it printed. */
export function runToEnd(program, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const printed = collect(child);
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, ...printed });
    });
  });
}

/** Starts a program; resolves when `ready` finds something in what it has printed to stdout. */
export function startUntil(program, args, options, ready) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const printed = collect(child);
    const ended = new Promise((end) => child.once("close", end));
    const fail = (why) =>
      reject(new Error(`${program} ${args.join(" ")} ${why}: ${printed.out}${printed.err}`));
    const timer = setTimeout(() => {
      for (const pid of family(child.pid)) kill(pid, "SIGKILL");
      fail("was not ready in time");
    }, PATIENCE_MS);
    child.once("error", reject);
    ended.then((code) => {
      clearTimeout(timer);
      fail(`ended with ${code}`);
    });
    child.stdout.on("data", () => {
      const found = ready(printed.out);
      if (found === undefined) return;
      clearTimeout(timer);
      resolve({ child, ended, printed, found });
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

/** A process and all that it has started, as `ps` lists them. */
export function family(pid) {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  const rows = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found = [pid];
  for (const parent of found) {
    found.push(...rows.filter(([, ppid]) => ppid === parent).map(([child]) => child));
  }
  return found;
}

/** The command line of a process; empty when it is gone. */
export const commandLine = (pid) =>
  spawnSync("ps", ["-p", String(pid), "-o", "args="], { encoding: "utf8" }).stdout.trim();

export function kill(pid, signal) {
  try {
    process.kill(pid, signal);
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
