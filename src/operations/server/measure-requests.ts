import { Counter, type Metric, type Registry } from "prom-client";
import { DURATION_BOUNDS, type RequestMetrics } from "../../telemetry/request-metrics.js";

/** The names and the descriptions of the two metrics of one protocol. */
export interface RequestMetricNames {
  readonly count: string;
  readonly countHelp: string;
  readonly duration: string;
  readonly durationHelp: string;
}

/** The statuses that the alert rules watch. */
const FAILURES = [401, 429, 500, 503];

/** Measures requests by operation and status, and their durations by operation. */
export function measureRequests(
  requests: RequestMetrics,
  { count: name, countHelp: help, duration, durationHelp }: RequestMetricNames,
  registry: Registry,
): void {
  const labelNames = ["operation", "status"];
  const counter = new Counter({ name, help, labelNames, registers: [registry] });
  const durations = requests.durations();
  // A rate sees the first failure only if the counter was 0 before.
  for (const { operation } of durations) {
    for (const status of FAILURES) counter.inc({ operation, status }, 0);
  }
  for (const { operation, status, count } of requests.counts()) {
    counter.inc({ operation, status }, count);
  }
  const values = durations.flatMap(({ operation, buckets, sum }) => {
    let count = 0;
    const cumulative = buckets.map((requests, at) => {
      count += requests;
      const labels = { operation, le: DURATION_BOUNDS[at] ?? "+Inf" };
      return { metricName: `${duration}_bucket`, labels, value: count };
    });
    return [
      ...cumulative,
      { metricName: `${duration}_sum`, labels: { operation }, value: sum },
      { metricName: `${duration}_count`, labels: { operation }, value: count },
    ];
  });
  const histogram = { name: duration, help: durationHelp, type: "histogram", values };
  // A Histogram of prom-client observes single values, and takes no counts.
  registry.registerMetric({ name: duration, get: async () => histogram } as unknown as Metric);
}
