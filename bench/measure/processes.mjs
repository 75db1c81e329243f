import { readdirSync, readFileSync } from "node:fs";

/** Of a second, in which Linux counts processor time to programs. */
const TICKS = 100;

/** A process and all that descend from it, whoever started them. @param {number} pid */
export function tree(pid) {
  const children = new Map();
  for (const other of processes()) {
    const parent = stat(other)?.parent;
    if (parent === undefined) continue;
    children.set(parent, [...(children.get(parent) ?? []), other]);
  }
  const found = [pid];
  for (const at of found) found.push(...(children.get(at) ?? []));
  return found;
}

/**
 * Processor seconds that the processes have used so far, with those that they waited for; undefined
 * where there is no /proc.
 *
 * @param {readonly number[]} pids
 */
export function cpuSeconds(pids) {
  const used = pids.map((pid) => stat(pid)?.ticks);
  return used.every((ticks) => ticks === undefined) ? undefined : sum(used) / TICKS;
}

/** Processor seconds that the first thread of a process has used. @param {number} pid */
export function mainThreadSeconds(pid) {
  const thread = stat(`${pid}/task/${pid}`);
  return thread === undefined ? undefined : thread.ticks / TICKS;
}

/** What the children used that this process has waited for. */
export function childrenCpuSeconds() {
  const own = stat(process.pid);
  return own === undefined ? undefined : own.childTicks / TICKS;
}

/** Memory of the processes that is in RAM now; of pages that several share, each has its part. @param {readonly number[]} pids */
export function residentBytes(pids) {
  const kibibytes = pids.map((pid) => {
    const found = /^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? "");
    return found ? Number(found[1]) : undefined;
  });
  return kibibytes.every((size) => size === undefined) ? undefined : sum(kibibytes) * 1024;
}

/**
 * Lets processes rest (`SIGSTOP`), go on (`SIGCONT`) or end.
 *
 * @param {readonly number[]} pids
 * @param {"SIGSTOP" | "SIGCONT" | "SIGKILL"} signal
 */
export function signalAll(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended meanwhile.
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
  // The second field is a name in parentheses, which may hold any character.
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
