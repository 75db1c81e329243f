import { readdirSync, readFileSync } from "node:fs";

/** The unit of processor time in /proc, as a fraction of a second. */
const TICKS_PER_SECOND = 100;

/** A process and all its descendants. @param {number} pid */
export function processTree(pid) {
  const children = new Map();
  for (const other of processes()) {
    const parent = stat(other)?.parent;
    if (parent === undefined) continue;
    children.set(parent, [...(children.get(parent) ?? []), other]);
  }
  const pids = [pid];
  for (const parent of pids) pids.push(...(children.get(parent) ?? []));
  return pids;
}

/**
 * Processor seconds of the processes so far, including children that they waited for; undefined on systems
 * without /proc.
 *
 * @param {readonly number[]} pids
 */
export function cpuSeconds(pids) {
  const used = pids.map((pid) => stat(pid)?.ticks);
  return used.every((ticks) => ticks === undefined) ? undefined : sum(used) / TICKS_PER_SECOND;
}

/** Processor seconds of the main thread of a process. @param {number} pid */
export function mainThreadSeconds(pid) {
  const thread = stat(`${pid}/task/${pid}`);
  return thread === undefined ? undefined : thread.ticks / TICKS_PER_SECOND;
}

/** Processor seconds of the children that this process has waited for. */
export function childrenCpuSeconds() {
  const self = stat(process.pid);
  return self === undefined ? undefined : self.childTicks / TICKS_PER_SECOND;
}

/** Resident memory of the processes. Shared pages count in proportion (PSS). @param {readonly number[]} pids */
export function residentBytes(pids) {
  const kibibytes = pids.map((pid) => {
    const match = /^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? "");
    return match ? Number(match[1]) : undefined;
  });
  return kibibytes.every((size) => size === undefined) ? undefined : sum(kibibytes) * 1024;
}

/**
 * Suspends (`SIGSTOP`), resumes (`SIGCONT`) or kills processes.
 *
 * @param {readonly number[]} pids
 * @param {"SIGSTOP" | "SIGCONT" | "SIGKILL"} signal
 */
export function signalAll(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process has ended.
    }
  }
}

function processes() {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** @param {number | string} pid */
function stat(pid) {
  const line = read(`/proc/${pid}/stat`);
  if (line === undefined) return undefined;
  // The second field is a name in parentheses, which may contain any character.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const [user, system, childUser, childSystem] = fields.slice(11, 15).map(Number);
  return {
    parent: Number(fields[1]),
    ticks: user + system + childUser + childSystem,
    childTicks: childUser + childSystem,
  };
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** @param {readonly (number | undefined)[]} values */
function sum(values) {
  return values.reduce((total, value) => (total ?? 0) + (value ?? 0), 0) ?? 0;
}
