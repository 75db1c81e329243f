import { type HrTime, ValueType } from "@opentelemetry/api";
import { hrTime } from "@opentelemetry/core";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type Histogram,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import type { MetricObjectWithValues, MetricValue, Registry } from "prom-client";
import { withinTime } from "./within-time.js";

/** Measures the metrics of `/metrics`. */
export type Measure = () => Promise<Registry>;

/** Sends the metrics of `/metrics` under the same names. */
export class OtlpMetrics {
  readonly #provider: MeterProvider;

  constructor(measure: Measure, resource: Resource, intervalMs: number) {
    const reader = new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter(),
      exportIntervalMillis: intervalMs,
      exportTimeoutMillis: Math.min(intervalMs, 30_000),
      metricProducers: [new RegistryProducer(measure, resource)],
    });
    this.#provider = new MeterProvider({ resource, readers: [reader] });
  }

  /** Sends the metrics once more. */
  stop(): Promise<void> {
    return withinTime(this.#provider.shutdown());
  }
}

/** Reads a registry of prom-client for the OpenTelemetry SDK. */
class RegistryProducer implements MetricProducer {
  readonly #started = hrTime();

  constructor(
    private readonly measure: Measure,
    private readonly resource: Resource,
  ) {}

  async collect(): Promise<CollectionResult> {
    const errors: unknown[] = [];
    const metrics: MetricData[] = [];
    try {
      const registry = await this.measure();
      const now = hrTime();
      for (const metric of await registry.getMetricsAsJSON()) {
        try {
          metrics.push(metricData(metric as Metric, this.#started, now));
        } catch (error) {
          errors.push(error);
        }
      }
    } catch (error) {
      // The other metrics of the SDK are sent nevertheless.
      errors.push(error);
    }
    const scopeMetrics = [{ scope: { name: "joust" }, metrics }];
    return { resourceMetrics: { resource: this.resource, scopeMetrics }, errors };
  }
}

/** prom-client declares `type` as a number, but it is text. */
type Metric = Omit<MetricObjectWithValues<MetricValue<string>>, "type"> & { type: unknown };
type Labels = Record<string, string | number>;
type NamedValue = { metricName: string; labels: Labels; value: number };
type HistogramInProgress = {
  buckets: { boundaries: number[]; counts: number[] };
  count: number;
  sum: number;
};

/** The buckets of a histogram, by its other labels. prom-client has cumulative counts in them. */
function histograms({ values, name }: Metric): { labels: Labels; value: Histogram }[] {
  const found = new Map<string, { labels: Labels; value: HistogramInProgress }>();
  for (const { metricName, labels, value } of values as NamedValue[]) {
    const { le, ...others } = labels;
    const key = JSON.stringify(others);
    const entry = found.get(key) ?? {
      labels: others,
      value: { buckets: { boundaries: [], counts: [] }, count: 0, sum: 0 },
    };
    found.set(key, entry);
    const { buckets } = entry.value;
    if (metricName === `${name}_sum`) entry.value.sum = value;
    else if (metricName === `${name}_bucket`) {
      if (le !== "+Inf") buckets.boundaries.push(Number(le));
      buckets.counts.push(value - entry.value.count);
      entry.value.count = value;
    }
  }
  return [...found.values()];
}

/** @throws Error for a type that has no conversion */
export function metricData(metric: Metric, startTime: HrTime, endTime: HrTime): MetricData {
  const common = {
    descriptor: {
      name: metric.name,
      description: metric.help,
      unit: "",
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPoints: metric.values.map(({ value, labels }) => ({
      startTime,
      endTime,
      attributes: { ...labels } as Record<string, string | number>,
      value,
    })),
  };
  if (metric.type === "gauge") return { ...common, dataPointType: DataPointType.GAUGE };
  if (metric.type === "counter") {
    return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true };
  }
  if (metric.type === "histogram") {
    const dataPoints = histograms(metric).map(({ labels, value }) => ({
      startTime,
      endTime,
      attributes: labels,
      value,
    }));
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  throw new Error(
    `the metric ${metric.name} is a ${metric.type}, which OTLP metrics do not include`,
  );
}
