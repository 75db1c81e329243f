/** @import { Report, Result } from "../types.js" */

/**
 * What a part of a request costs.
 *
 * @typedef {object} AccessShare
 * @property {string} part
 * @property {number} share of the processor time of a request with this part and those before it
 * @property {number} micros of processor time for each request
 */

/** Each contender does what the one before it does, and one more part. */
const CONTENDERS = ["joust", "joust-read", "joust-granted"];
const PARTS = ["authentication by a stored key", "authorization by grants"];
const SCENARIO = "points";

/**
 * What authentication and authorization cost, each for itself, for each number of clients. The goal judges both
 * together. A part that costs less than the measurement varies may have a negative share.
 *
 * @param {Report} report
 * @returns {AccessShare[]} empty if a contender was not measured
 */
export function accessShares({ contenders, results }) {
  const titles = CONTENDERS.map((key) => contenders.find((one) => one.key === key)?.title);
  const points = results.filter(({ scenario }) => scenario === SCENARIO);
  return [...new Set(points.map(({ clients }) => clients))].flatMap((clients) => {
    const times = titles.map((title) => timeOf(points, title, clients));
    return PARTS.flatMap((part, at) => {
      const [without, withPart] = times.slice(at, at + 2);
      if (!without || !withPart) return [];
      return {
        part: `${SCENARIO}, ${clients} ${clients === 1 ? "client" : "clients"}: ${part}`,
        share: (withPart - without) / withPart,
        // Seconds for 1,000 requests are milliseconds for each.
        micros: (withPart - without) * 1000,
      };
    });
  });
}

/** @param {readonly Result[]} results @param {string | undefined} title @param {number} clients */
const timeOf = (results, title, clients) =>
  results.find((one) => one.contender === title && one.clients === clients)?.cpuSecondsPer1000;
