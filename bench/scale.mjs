/** @import { ScaleReport } from "./types.js" @import { Options } from "./arguments.mjs" */
import { runBench } from "./run.mjs";

const SCENARIOS = ["vector-pq", "vector-pq-refine", "text", "filter", "points", "count"];
const CONTENDERS = ["joust", "lance"];

/**
 * The same measurements on tables of each size that is asked for.
 *
 * @param {Options} options
 * @param {(line: string) => void} tell what is going on
 * @returns {Promise<ScaleReport>}
 */
export async function runScale(options, tell) {
  const sizes = [];
  for (const rows of [...(options.scale ?? [])].sort((a, b) => a - b)) {
    const scenarios = options.scenarios.length > 0 ? options.scenarios : SCENARIOS;
    const contenders = options.contenders ?? CONTENDERS;
    const clients = [Math.max(...options.clients)];
    sizes.push(await runBench({ ...options, rows, scenarios, contenders, clients }, tell));
  }
  return { when: new Date().toISOString(), sizes };
}
