import { randomUUID } from "node:crypto";
import type { OtlpSettings } from "../telemetry/otlp/start.js";
import { ConfigError } from "./option.js";

type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "OTEL_EXPORTER_OTLP_";
const DEFAULT_INTERVAL = 60_000;

/** The values that OpenTelemetry defines. The SDK would replace another value by the default. */
const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
];

/**
 * Which signals the environment asks for; undefined without an endpoint. The OpenTelemetry SDK reads endpoints,
 * headers, sampler and batch sizes itself.
 * @throws ConfigError for a value that joust or the SDK does not support
 */
export function otlpSettings(env: Environment): OtlpSettings | undefined {
  if (read(env, "OTEL_SDK_DISABLED")?.toLowerCase() === "true") return undefined;
  const traces = sends(env, "TRACES");
  const metrics = sends(env, "METRICS");
  if (!traces && !metrics) return undefined;
  if (traces) checkSampler(env);
  return { traces, metrics, metricIntervalMs: metricInterval(env), instanceId: randomUUID() };
}

/** Whether a signal has an endpoint and is not turned off. */
function sends(env: Environment, signal: "TRACES" | "METRICS"): boolean {
  const names = [`${PREFIX}${signal}_ENDPOINT`, `${PREFIX}ENDPOINT`];
  const name = names.find((one) => read(env, one) !== undefined);
  if (name === undefined) return false;
  const exporter = `OTEL_${signal}_EXPORTER`;
  const chosen = read(env, exporter) ?? "otlp";
  if (chosen === "none") return false;
  if (chosen !== "otlp") throw invalid(exporter, "otlp or none", chosen);
  checkUrl(name, read(env, name) as string);
  const protocols = [`${PREFIX}${signal}_PROTOCOL`, `${PREFIX}PROTOCOL`];
  const named = protocols.find((one) => read(env, one) !== undefined);
  const protocol = named && read(env, named);
  if (named && protocol !== "http/protobuf") {
    throw invalid(named, "http/protobuf, the protocol of port 4318", protocol as string);
  }
  return true;
}

/** The value may contain a password, so the error does not quote it. */
function checkUrl(name: string, text: string): void {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return;
  throw new ConfigError(`${name} must be an http or https URL, such as http://collector:4318`);
}

function checkSampler(env: Environment): void {
  const sampler = read(env, "OTEL_TRACES_SAMPLER");
  if (sampler === undefined) return;
  if (!SAMPLERS.includes(sampler)) {
    throw invalid("OTEL_TRACES_SAMPLER", `one of ${SAMPLERS.join(", ")}`, sampler);
  }
  const ratio = read(env, "OTEL_TRACES_SAMPLER_ARG");
  if (!sampler.endsWith("traceidratio") || ratio === undefined) return;
  if (!(Number(ratio) >= 0 && Number(ratio) <= 1)) {
    throw invalid("OTEL_TRACES_SAMPLER_ARG", "a number from 0 to 1", ratio);
  }
}

function metricInterval(env: Environment): number {
  const text = read(env, "OTEL_METRIC_EXPORT_INTERVAL");
  if (text === undefined) return DEFAULT_INTERVAL;
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw invalid("OTEL_METRIC_EXPORT_INTERVAL", "a number of milliseconds, such as 60000", text);
  }
  return Number(text);
}

/** OpenTelemetry treats an empty variable as absent. */
function read(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === "" ? undefined : value;
}

const invalid = (name: string, expected: string, value: string): ConfigError =>
  new ConfigError(`${name} must be ${expected}, got "${value}"`);
