import { describe, expect, it } from "vitest";
import { ConfigError } from "../../src/config/option.js";
import { otlpSettings } from "../../src/config/otlp.js";

const url = "http://collector:4318";
const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: url };

describe("OTLP", () => {
  it.each([
    ["without an endpoint", {}],
    ["with an empty endpoint", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
    ["with only other variables", { OTEL_SERVICE_NAME: "joust", OTEL_TRACES_EXPORTER: "otlp" }],
    ["if the SDK is disabled", { ...endpoint, OTEL_SDK_DISABLED: "true" }],
    [
      "if no signal has an exporter",
      { ...endpoint, OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" },
    ],
  ])("is off %s", (_, env) => {
    expect(otlpSettings(env)).toBeUndefined();
  });

  it.each([
    ["both signals", endpoint, { traces: true, metrics: true }],
    [
      "only metrics",
      { ...endpoint, OTEL_TRACES_EXPORTER: "none" },
      { traces: false, metrics: true },
    ],
    [
      "only traces",
      { ...endpoint, OTEL_METRICS_EXPORTER: "none" },
      { traces: true, metrics: false },
    ],
    [
      "the signal that has an endpoint",
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces` },
      { traces: true, metrics: false },
    ],
  ])("sends %s", (_, env, signals) => {
    expect(otlpSettings(env)).toMatchObject({ ...signals, metricIntervalMs: 60_000 });
  });

  it("gives each process another id", () => {
    expect(otlpSettings(endpoint)?.instanceId).not.toBe(otlpSettings(endpoint)?.instanceId);
  });

  it("reads the interval of metrics", () => {
    const env = { ...endpoint, OTEL_METRIC_EXPORT_INTERVAL: "5000" };
    expect(otlpSettings(env)?.metricIntervalMs).toBe(5_000);
  });

  it.each([
    ["OTEL_TRACES_EXPORTER", "console", /must be otlp or none, got "console"/],
    ["OTEL_METRICS_EXPORTER", "prometheus", /must be otlp or none, got "prometheus"/],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", /must be http\/protobuf/],
    ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json", /must be http\/protobuf/],
    ["OTEL_TRACES_SAMPLER", "sometimes", /must be one of always_on, /],
    ["OTEL_METRIC_EXPORT_INTERVAL", "1m", /must be a number of milliseconds/],
  ])("refuses %s=%s", (name, value, message) => {
    const attempt = () => otlpSettings({ ...endpoint, [name]: value });
    expect(attempt).toThrow(ConfigError);
    expect(attempt).toThrow(message);
    expect(attempt).toThrow(name);
  });

  it("refuses a ratio that is no probability", () => {
    const sampler = { ...endpoint, OTEL_TRACES_SAMPLER: "traceidratio" };
    const attempt = () => otlpSettings({ ...sampler, OTEL_TRACES_SAMPLER_ARG: "1.5" });
    expect(attempt).toThrow(/OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, got "1.5"/);
    expect(otlpSettings({ ...sampler, OTEL_TRACES_SAMPLER_ARG: "0.25" })?.traces).toBe(true);
  });

  it("refuses an endpoint that is no URL without quoting it", () => {
    const attempt = () => otlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: "user:password@collector" });
    expect(attempt).toThrow(/OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL/);
    expect(attempt).not.toThrow(/password/);
  });
});
