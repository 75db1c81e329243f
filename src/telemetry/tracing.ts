/** The ids of a span as members of a log line. OpenTelemetry names them for logs in other formats. */
export interface TraceIds {
  readonly trace_id: string;
  readonly span_id: string;
}

export type SpanAttributes = Record<string, string | number>;

/** The headers of W3C Trace Context that continue a trace elsewhere. */
export interface TraceContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** One statement on a database in another process, after its end. */
export interface EndedStatement {
  /** The text with placeholders in place of values. */
  readonly sql: string;
  readonly ms: number;
  /** The SQLSTATE of a statement that failed, or the name of its error. */
  readonly error?: string;
  readonly database: SpanAttributes;
}

/** A phase of a call of the engine, or a storage request. */
export interface EngineSpan {
  readonly name: string;
  /** The position of the span around it, in the same list; absent: the call itself. */
  readonly parent?: number;
  readonly isStorageRequest: boolean;
  /** From the start of the call to the start of the span. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly attributes: SpanAttributes;
}

/** Records what the engine does in one call. */
export interface EngineTraces {
  /** Runs `call` and returns its result with the number of its trace. */
  start<T>(call: () => T): { readonly result: T; readonly trace: number };
  /** Ends a trace. Returns its spans in the order of their start. */
  end(trace: number): readonly EngineSpan[];
}

/** How a request ended. */
export interface RequestOutcome {
  readonly status: number;
  readonly attributes: SpanAttributes;
}

/** The span of one HTTP request. */
export interface RequestSpan {
  readonly ids: TraceIds;
  /** Runs `work` so that the spans that it starts are children of this one. */
  run<T>(work: () => T): T;
  end(outcome: RequestOutcome): void;
}

/**
 * Records spans in one thread. A span of the engine, of a statement or of the main thread exists only below a
 * span that is sampled and has not ended: polling loops make no traces.
 */
export interface Tracing {
  /** `context`: the headers of the request. */
  startRequest(name: string, context: TraceContext, attributes: SpanAttributes): RequestSpan;
  /** The ids of the running span; undefined if there is none. */
  ids(): TraceIds | undefined;
  /** Records a call of the engine and its phases, if it returns a promise. Returns what `call` returns. */
  callEngine<T>(name: string, traces: EngineTraces, call: () => T): T;
  recordStatement(statement: EndedStatement): void;
  /** The context that another thread continues; undefined outside of a sampled span. */
  context(): TraceContext | undefined;
  /** Runs `work` in a span of the trace of another thread. */
  continueTrace<T>(context: TraceContext, name: string, work: () => T): T;
  /** Remembers which request queued a job: the span of the job links to it. */
  jobQueued(id: string): void;
  /** Runs a job in a trace of its own. */
  runJob<T>(job: { id: string; kind: string; name: string }, work: () => Promise<T>): Promise<T>;
  /** Sends the spans that have ended. Resolves after a few seconds even if the collector does not answer. */
  stop(): Promise<void>;
}

/** The tracing of this thread; undefined unless OTLP is configured. */
export let tracing: Tracing | undefined;

/** Called once in each thread, before it serves requests. */
export function setTracing(value: Tracing | undefined): void {
  tracing = value;
}
