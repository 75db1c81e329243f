/** @import { Operation, Dataset } from "../types.js" */

/**
 * Calls into the engine for one request of each kind, and the growth of the JavaScript heap.
 *
 * @param {Awaited<ReturnType<typeof import("./counting-server.mjs").countingServer>>} server
 * @param {Dataset} dataset
 * @param {number} requests
 */
export async function engineCalls(server, dataset, requests) {
  const lines = [];
  for (const [title, operation] of kinds(dataset)) {
    // The first requests also create lazily initialized objects.
    let bytes = 0;
    for (let i = 0; i < 20; i++) bytes = (await server.execute(operation)).byteLength;
    const before = await server.counts();
    for (let i = 0; i < requests; i++) await server.execute(operation);
    const after = await server.counts();
    const calls = Object.entries(after.counts)
      .map(([name, count]) => /** @type {const} */ ([name, count - (before.counts[name] ?? 0)]))
      .filter(([, count]) => count > 0);
    lines.push({
      title,
      bytes,
      calls: Object.fromEntries(calls.map(([name, count]) => [name, count / requests])),
      total: calls.reduce((sum, [, count]) => sum + count, 0) / requests,
      heapPerRequest: (after.heapUsed - before.heapUsed) / requests,
    });
  }
  return lines;
}

/** @param {Dataset} dataset @returns {[string, Operation][]} */
function kinds({ queries, rows }) {
  const columns = ["id", "text"];
  const everything = { number: /** @type {const} */ ([0, Number.MAX_SAFE_INTEGER]) };
  const [first] = queries;
  return [
    ["vector, 10 rows", { kind: "vector", vectors: [first], k: 10, columns }],
    ["10 vectors", { kind: "vector", vectors: queries.slice(0, 10), k: 10, columns }],
    ["10 ids", { kind: "points", ids: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], columns }],
    ["filter, limit 10", { kind: "filter", filter: everything, limit: 10, columns }],
    [
      "all rows with vectors",
      { kind: "filter", filter: everything, limit: rows, columns: [...columns, "vector"] },
    ],
  ];
}
