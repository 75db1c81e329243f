import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type {
  EndedStatement,
  EngineSpan,
  EngineTraces,
  RequestSpan,
  SpanAttributes,
  TraceContext,
  TraceIds,
  Tracing,
} from "../tracing.js";
import { withinTime } from "./within-time.js";

/** Queued jobs whose request is remembered. Beyond it, the oldest one gets no link. */
const MAX_QUEUED_JOBS = 1_000;

/** Records spans and sends them in batches. The SDK reads the sampler and the endpoint from the environment. */
export class OtlpTracing implements Tracing {
  readonly #running = new AsyncLocalStorage<Span>();
  readonly #propagator = new W3CTraceContextPropagator();
  readonly #provider: BasicTracerProvider;
  readonly #tracer: Tracer;
  readonly #queuedJobs = new Map<string, SpanContext>();

  constructor(
    resource: Resource,
    version: string,
    /** Attributes of each request span. */
    private readonly thread: SpanAttributes,
  ) {
    const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter())];
    this.#provider = new BasicTracerProvider({ resource, spanProcessors });
    this.#tracer = this.#provider.getTracer("joust", version);
  }

  startRequest(name: string, context: TraceContext, attributes: SpanAttributes): RequestSpan {
    const parent = this.#propagator.extract(ROOT_CONTEXT, context, defaultTextMapGetter);
    const options = { kind: SpanKind.SERVER, attributes: { ...this.thread, ...attributes } };
    const span = this.#tracer.startSpan(name, options, parent);
    return {
      ids: idsOf(span),
      run: (work) => this.#running.run(span, work),
      end: ({ status, attributes }) => {
        span.setAttributes({ ...attributes, "http.response.status_code": status });
        if (status >= 500) failed(span, String(status));
        span.end();
      },
    };
  }

  ids(): TraceIds | undefined {
    const span = this.#running.getStore();
    return span && idsOf(span);
  }

  callEngine<T>(name: string, traces: EngineTraces, call: () => T): T {
    const parent = this.#parent();
    if (!parent) return call();
    const span = this.#tracer.startSpan(name, { kind: SpanKind.INTERNAL }, parent);
    const started = performance.now();
    const { result, trace } = traces.start(call);
    const endTrace = () => this.#recordPhases(span, started, traces.end(trace));
    // A span that does not end is never sent.
    if (result instanceof Promise) endWith(span, result, endTrace);
    else traces.end(trace);
    return result;
  }

  /** Records the spans below a call of the engine. */
  #recordPhases(call: Span, started: number, phases: readonly EngineSpan[]): void {
    const contexts: Context[] = [];
    const root = trace.setSpan(ROOT_CONTEXT, call);
    for (const { name, parent, isStorageRequest, startMs, durationMs, attributes } of phases) {
      const kind = isStorageRequest ? SpanKind.CLIENT : SpanKind.INTERNAL;
      const prefix = isStorageRequest ? "joust.storage" : "joust";
      const named = Object.entries(attributes).map(([key, value]) => [`${prefix}.${key}`, value]);
      const startTime = started + startMs;
      const options = { kind, startTime, attributes: Object.fromEntries(named) };
      const around = parent === undefined ? root : (contexts[parent] ?? root);
      const span = this.#tracer.startSpan(
        isStorageRequest ? `storage ${name}` : name,
        options,
        around,
      );
      contexts.push(trace.setSpan(ROOT_CONTEXT, span));
      span.end(startTime + durationMs);
    }
  }

  recordStatement({ sql, ms, error, database }: EndedStatement): void {
    const parent = this.#parent();
    if (!parent) return;
    const end = performance.now();
    const operation = /^\s*(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? "SQL";
    const attributes = { ...database, "db.query.text": sql, "db.operation.name": operation };
    const options = { kind: SpanKind.CLIENT, attributes, startTime: end - ms };
    const span = this.#tracer.startSpan(operation, options, parent);
    if (error !== undefined) failed(span, error);
    span.end(end);
  }

  context(): TraceContext | undefined {
    const parent = this.#parent();
    if (!parent) return undefined;
    const context: TraceContext = {};
    this.#propagator.inject(parent, context, defaultTextMapSetter);
    return context;
  }

  continueTrace<T>(context: TraceContext, name: string, work: () => T): T {
    const parent = this.#propagator.extract(ROOT_CONTEXT, context, defaultTextMapGetter);
    const span = this.#tracer.startSpan(name, { kind: SpanKind.INTERNAL }, parent);
    return this.#runIn(span, work);
  }

  jobQueued(id: string): void {
    const span = this.#running.getStore();
    if (!span?.isRecording() || this.#queuedJobs.has(id)) return;
    this.#queuedJobs.set(id, span.spanContext());
    const [oldest] = this.#queuedJobs.keys();
    if (oldest !== undefined && this.#queuedJobs.size > MAX_QUEUED_JOBS) {
      this.#queuedJobs.delete(oldest);
    }
  }

  runJob<T>(
    { id, kind, name }: { id: string; kind: string; name: string },
    work: () => Promise<T>,
  ): Promise<T> {
    const request = this.#queuedJobs.get(id);
    this.#queuedJobs.delete(id);
    const links = request ? [{ context: request }] : [];
    const attributes = { "joust.job.id": id, "joust.job.kind": kind, "joust.job.name": name };
    const options = { kind: SpanKind.CONSUMER, root: true, links, attributes };
    return this.#runIn(this.#tracer.startSpan(`job ${kind}`, options, ROOT_CONTEXT), work);
  }

  stop(): Promise<void> {
    return withinTime(this.#provider.shutdown());
  }

  /** The context of the running span if it is sampled and has not ended. */
  #parent(): Context | undefined {
    const span = this.#running.getStore();
    return span?.isRecording() ? trace.setSpan(ROOT_CONTEXT, span) : undefined;
  }

  /** Runs `work` in a span that ends with it. */
  #runIn<T>(span: Span, work: () => T): T {
    try {
      const result = this.#running.run(span, work);
      if (result instanceof Promise) endWith(span, result);
      else span.end();
      return result;
    } catch (error) {
      failed(span, errorType(error));
      span.end();
      throw error;
    }
  }
}

function idsOf(span: Span): TraceIds {
  const { traceId: trace_id, spanId: span_id } = span.spanContext();
  return { trace_id, span_id };
}

/** Ends a span with a promise. `before` runs directly before the end. */
function endWith(span: Span, promise: Promise<unknown>, before: () => void = () => {}): void {
  const end = () => {
    before();
    span.end();
  };
  promise.then(end, (error) => {
    failed(span, errorType(error));
    end();
  });
}

/** Without the error's message: it may quote values of a request. */
function failed(span: Span, type: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.setAttribute("error.type", type);
}

/** joust's error code, or the name of another error. */
function errorType(error: unknown): string {
  if (!(error instanceof Error)) return "_OTHER";
  return "code" in error && error.code !== undefined ? String(error.code) : error.name;
}
