import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Server } from "../../harness/server.js";

/** The maximum growth of a server's resident memory while `work` runs, bytes. */
export async function memoryGrowth(server: Server, work: () => Promise<unknown>): Promise<number> {
  const before = server.rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, server.rss());
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return Math.max(most, server.rss()) - before;
}

/** The CPU share of a server during the next `ms`, 0 to the number of cores. */
export async function cpuShare(server: Server, ms: number): Promise<number> {
  const before = cpuMillis(server.pid);
  await sleep(ms);
  return (cpuMillis(server.pid) - before) / ms;
}

/** User and system time of a process (Linux counts in hundredths of a second). */
function cpuMillis(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [, ...fields] = stat.slice(stat.lastIndexOf(")")).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
