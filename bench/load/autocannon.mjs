/** @import { LoadResult } from "../types.js" @import { HttpRequest } from "./generator.mjs" */
import autocannon from "autocannon";
import { percentile } from "../measure/statistics.mjs";

/**
 * @param {{ url: string, requests: HttpRequest[], clients: number, seconds: number }} wanted
 * @returns {Promise<LoadResult>}
 */
export async function autocannonLoad({ url, requests, clients, seconds }) {
  /** @type {number[]} */
  const latencies = [];
  const before = process.cpuUsage();
  const result = await new Promise((resolve, reject) => {
    const sent = requests.map(({ body, ...rest }) => ({
      ...rest,
      ...(body === undefined ? {} : { body: Buffer.from(body) }),
    }));
    const options = { url, connections: clients, duration: seconds, timeout: 60, requests: sent };
    const running = autocannon(/** @type {any} */ (options), (error, done) =>
      error ? reject(error) : resolve(done),
    );
    // The summary of autocannon lacks the 95th percentile.
    running.on("response", (_client, _status, _bytes, milliseconds) =>
      latencies.push(milliseconds),
    );
  });
  const { user, system } = process.cpuUsage(before);
  latencies.sort((a, b) => a - b);
  return {
    rate: latencies.length / result.duration,
    requests: latencies.length,
    p50: percentile(latencies, 0.5),
    p95: percentile(latencies, 0.95),
    p99: percentile(latencies, 0.99),
    failures: result.non2xx + result.errors,
    loaderCpuSeconds: (user + system) / 1e6,
  };
}
