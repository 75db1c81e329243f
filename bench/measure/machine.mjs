import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";

/** The properties of the machine that determine the results. @returns {Record<string, string | number>} */
export function describeMachine() {
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${type()} ${release()}`,
    node: process.version,
    /** Runnable processes during the last minute. A high value before a run means a busy machine. */
    load: Number(loadavg()[0]?.toFixed(2)),
  };
}
