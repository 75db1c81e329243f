import { packageManifest } from "../../foundation/package-files.js";
import type { Logger } from "../logger.js";
import { setTracing, tracing } from "../tracing.js";
import type { Measure } from "./otlp-metrics.js";

/** Which signals are sent. The SDK reads the other settings from the environment. */
export interface OtlpSettings {
  readonly traces: boolean;
  readonly metrics: boolean;
  /** How often metrics are sent, ms. */
  readonly metricIntervalMs: number;
  /** Identifies this process: the resource attribute `service.instance.id`. */
  readonly instanceId: string;
}

/** Starts to record spans in this thread, if the settings say so. Loads the OpenTelemetry SDK only then. */
export async function startTracing(
  settings: OtlpSettings | undefined,
  log: Logger,
  thread: string,
): Promise<void> {
  if (!settings?.traces) return;
  const { OtlpTracing } = await import("./otlp-tracing.js");
  const resource = await prepare(settings, log);
  setTracing(new OtlpTracing(resource, packageManifest().version, { "thread.name": thread }));
}

/** Sends the spans of this thread and stops recording. */
export async function stopTracing(): Promise<void> {
  const stopped = tracing;
  setTracing(undefined);
  await stopped?.stop();
}

/** Starts to send the metrics of the process, if the settings say so. Returns the function that stops it. */
export async function startMetrics(
  settings: OtlpSettings | undefined,
  log: Logger,
  measure: Measure,
): Promise<() => Promise<void>> {
  if (!settings?.metrics) return async () => {};
  const { OtlpMetrics } = await import("./otlp-metrics.js");
  const resource = await prepare(settings, log);
  const metrics = new OtlpMetrics(measure, resource, settings.metricIntervalMs);
  return () => metrics.stop();
}

async function prepare({ instanceId }: OtlpSettings, log: Logger) {
  const { logDiagnostics } = await import("./diagnostics.js");
  const { otlpResource } = await import("./resource.js");
  logDiagnostics(log);
  return otlpResource(packageManifest().version, instanceId);
}
