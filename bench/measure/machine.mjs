import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";

/** What figures depend on, and cannot be compared without. @returns {Record<string, string | number>} */
export function describeMachine() {
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${type()} ${release()}`,
    node: process.version,
    /** Processes that wanted a core during the last minute: high before a run, the figures are of a busy machine. */
    load: Number(loadavg()[0]?.toFixed(2)),
  };
}
