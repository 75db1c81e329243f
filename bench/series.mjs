/** @import { SeriesReport } from "./types.js" @import { Options } from "./arguments.mjs" */
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { runBench } from "./run.mjs";

const SCENARIOS = ["vector-pq", "vector-pq-refine", "text", "filter", "points"];
const CONTENDERS = ["joust", "lance"];

/**
 * Repeats the measurements for growing tables, or for growing numbers of cores.
 *
 * @param {Options} options
 * @param {(line: string) => void} log receives progress messages
 * @returns {Promise<SeriesReport>}
 */
export async function runSeries(options, log) {
  const wanted = {
    ...options,
    scenarios: options.scenarios.length > 0 ? options.scenarios : SCENARIOS,
    contenders: options.contenders ?? CONTENDERS,
    clients: [Math.max(...options.clients)],
  };
  const grows = options.scale ? "rows" : "cores";
  if (grows === "cores") checkCores(options.cores ?? []);
  const steps = [];
  for (const at of [...(options.scale ?? options.cores ?? [])].sort((a, b) => a - b)) {
    const step = grows === "rows" ? { rows: at } : { pinned: at };
    steps.push({ at, report: await runBench({ ...wanted, ...step }, log) });
  }
  return { when: new Date().toISOString(), grows, steps };
}

/** @param {readonly number[]} cores */
function checkCores(cores) {
  const available = availableParallelism();
  if (cores.some((number) => number > available))
    throw new Error(`this machine has ${available} cores`);
  if (spawnSync("taskset", ["--version"]).error) {
    throw new Error("--cores needs taskset of util-linux");
  }
}
