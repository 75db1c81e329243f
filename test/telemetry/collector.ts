import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
// The message types of OTLP, as an earlier release of OpenTelemetry's own transformer published them.
import root from "otlp-messages/build/src/generated/root.js";
import { onTestFinished } from "vitest";

interface Value {
  stringValue?: string;
  intValue?: string;
  doubleValue?: number;
}

interface KeyValue {
  key: string;
  value: Value;
}

interface RawSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: string;
  attributes?: KeyValue[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: string };
  startTimeUnixNano: string;
  endTimeUnixNano: string;
}

export type Attributes = Record<string, string | number>;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** "" for the first span of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: string;
  readonly attributes: Attributes;
  readonly links: readonly { traceId: string; spanId: string }[];
  readonly failed: boolean;
  readonly nanoseconds: bigint;
  readonly resource: Attributes;
}

export interface Sample {
  readonly name: string;
  readonly type: "gauge" | "counter" | "histogram";
  readonly attributes: Attributes;
  /** Of a histogram: the number of observations. */
  readonly value: number;
  readonly resource: Attributes;
}

/** A receiver of OTLP over HTTP. It decodes the protobuf messages that joust sends. */
export interface Collector {
  readonly url: string;
  readonly spans: Span[];
  /** Of all exports, oldest first. */
  readonly samples: Sample[];
  /** The headers of all requests. */
  readonly headers: IncomingHttpHeaders[];
  /** The status of replies: 200 unless a test changes it. */
  status: number;
}

/** Starts a collector that stops when the running test ends. */
export async function startCollector(): Promise<Collector> {
  const spans: Span[] = [];
  const samples: Sample[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      headers.push(request.headers);
      if (collector.status === 200) {
        const body = Buffer.concat(parts);
        const bytes = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
        if (request.url === "/v1/traces") spans.push(...decodeSpans(bytes));
        else if (request.url === "/v1/metrics") samples.push(...decodeSamples(bytes));
        else throw new Error(`an export to ${request.url}`);
      }
      response.writeHead(collector.status, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const collector = { url: `http://127.0.0.1:${port}`, spans, samples, headers, status: 200 };
  return collector;
}

// biome-ignore lint/suspicious/noExplicitAny: the generated module has no types of messages
const messages = (root as any).opentelemetry.proto.collector;

// biome-ignore lint/suspicious/noExplicitAny: see above
function decode(type: any, bytes: Uint8Array): any {
  const message = type.decode(bytes);
  return type.toObject(message, { longs: String, enums: String, bytes: String });
}

function decodeSpans(bytes: Uint8Array): Span[] {
  const { resourceSpans } = decode(messages.trace.v1.ExportTraceServiceRequest, bytes);
  const found: Span[] = [];
  for (const { resource, scopeSpans } of resourceSpans) {
    for (const { spans } of scopeSpans) {
      for (const span of spans as RawSpan[]) found.push(spanOf(span, resource.attributes));
    }
  }
  return found;
}

function spanOf(raw: RawSpan, resource: KeyValue[]): Span {
  const { name, kind, links = [], status } = raw;
  return {
    traceId: hex(raw.traceId),
    spanId: hex(raw.spanId),
    parentSpanId: hex(raw.parentSpanId ?? ""),
    name,
    kind: kind.replace("SPAN_KIND_", ""),
    attributes: attributesOf(raw.attributes),
    links: links.map((link) => ({ traceId: hex(link.traceId), spanId: hex(link.spanId) })),
    failed: status?.code === "STATUS_CODE_ERROR",
    nanoseconds: BigInt(raw.endTimeUnixNano) - BigInt(raw.startTimeUnixNano),
    resource: attributesOf(resource),
  };
}

function decodeSamples(bytes: Uint8Array): Sample[] {
  const { resourceMetrics } = decode(messages.metrics.v1.ExportMetricsServiceRequest, bytes);
  const found: Sample[] = [];
  for (const { resource, scopeMetrics } of resourceMetrics) {
    for (const { metrics = [] } of scopeMetrics) {
      for (const { name, gauge, sum, histogram } of metrics) {
        if (sum && !(sum.isMonotonic && /CUMULATIVE/.test(sum.aggregationTemporality))) {
          throw new Error(`the counter ${name} is not a cumulative monotonic sum`);
        }
        for (const point of (gauge ?? sum ?? histogram).dataPoints ?? []) {
          found.push({
            name,
            type: gauge ? "gauge" : sum ? "counter" : "histogram",
            attributes: attributesOf(point.attributes),
            value: point.asDouble ?? Number(point.asInt ?? point.count),
            resource: attributesOf(resource.attributes),
          });
        }
      }
    }
  }
  return found;
}

function attributesOf(pairs: KeyValue[] = []): Attributes {
  return Object.fromEntries(
    pairs.map(({ key, value }) => [
      key,
      value.stringValue ?? value.doubleValue ?? Number(value.intValue),
    ]),
  );
}

const hex = (base64: string): string => Buffer.from(base64, "base64").toString("hex");
