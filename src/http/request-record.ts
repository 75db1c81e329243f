import type { Call, Operation, Reply } from "../api/operation.js";
import type { Services } from "../api/services.js";
import { defaultDelimiter, parseIdentifier } from "../api/validation/identifier.js";
import { parseQuery } from "../api/validation/params.js";
import type { JoustError } from "../foundation/errors.js";
import type { AuditEntry, AuditedGrant, AuditLog } from "../telemetry/audit/audit-log.js";
import { AuditedParts, MAX_OBJECT } from "../telemetry/audit/audited-parts.js";
import { type RequestSpan, type TraceIds, tracing } from "../telemetry/tracing.js";
import type { HttpRequest } from "./http-request.js";
import type { RequestCall } from "./request-call.js";
import type { Route } from "./route.js";
import { remoteAddress } from "./transport/remote-address.js";

/** Members of a reply that count the rows that a request changed. */
const ROW_COUNTS: Readonly<Record<string, string>> = {
  num_inserted_rows: "inserted",
  num_updated_rows: "updated",
  updated_rows: "updated",
  num_deleted_rows: "deleted",
};

/** The methods that OpenTelemetry knows. */
const METHODS = /^(?:get|head|post|put|delete|connect|options|trace|patch|query)$/;

/** The audit log, and what describes a request for it. */
interface Audit extends Pick<Services, "grants"> {
  readonly log: AuditLog;
}

/** Makes the records of requests, for the audit log and for traces. */
export class RequestObserver {
  private constructor(
    private readonly audit: Audit | undefined,
    private readonly scheme: string,
  ) {}

  /** Undefined if nothing needs records. */
  static of(services: Pick<Services, "audit" | "config" | "grants">): RequestObserver | undefined {
    const { audit: log, grants } = services;
    if (!log && !tracing) return undefined;
    return new RequestObserver(log && { log, grants }, services.config.tls ? "https" : "http");
  }

  /** `segment`: the raw identifier in the path. */
  begin(
    request: HttpRequest,
    method: string,
    route: Route | undefined,
    segment: string | undefined,
    query: string,
  ): RequestRecord {
    const remote = remoteAddress(request.res.getRemoteAddressAsText());
    const object = segment === undefined ? undefined : objectOf(segment, query);
    const span = tracing && this.#startSpan(request, method, route, remote);
    return new RequestRecord(this.audit, request, route?.operation, object, remote, span);
  }

  #startSpan(
    { headers, path, requestId }: HttpRequest,
    method: string,
    route: Route | undefined,
    remote: string,
  ): RequestSpan | undefined {
    const verb = METHODS.test(method) ? method.toUpperCase() : "_OTHER";
    const [name, port] = hostOf(headers.get("host"));
    const agent = headers.get("user-agent");
    const context = {
      traceparent: headers.get("traceparent"),
      tracestate: headers.get("tracestate"),
    };
    // The query string is absent: it may contain values of tables.
    return tracing?.startRequest(route ? `${verb} ${route.path}` : verb, context, {
      "http.request.method": verb,
      "url.scheme": this.scheme,
      "url.path": path,
      "client.address": remote,
      "joust.request.id": requestId,
      ...(route && { "http.route": route.path, "joust.operation": route.operation.id }),
      ...(name !== "" && { "server.address": name }),
      ...(port !== undefined && { "server.port": port }),
      ...(agent !== "" && { "user_agent.original": agent }),
    });
  }
}

/** What the audit log and the trace say about one request. */
export class RequestRecord {
  #kind: string | undefined;
  #transaction: string | undefined;
  #credentials: string | undefined;
  #version: number | undefined;
  #grant: Promise<AuditedGrant | undefined> | undefined;
  readonly #parts = new AuditedParts();
  #rows: Record<string, number> | undefined;
  #replyBytes: number | undefined;
  #error: JoustError | undefined;

  constructor(
    private readonly audit: Audit | undefined,
    private readonly request: HttpRequest,
    private readonly operation: Operation | undefined,
    private object: string | undefined,
    private readonly remote: string,
    private readonly span: RequestSpan | undefined,
  ) {}

  /** Makes the object complete: the id in the path is relative to the database. */
  inDatabase(database: readonly string[]): void {
    if (database.length === 0 || this.operation?.access.on === "transaction object") return;
    const id = this.object ? [this.object] : [];
    this.object = [...database, ...id].join(defaultDelimiter).slice(0, MAX_OBJECT);
  }

  get traceIds(): TraceIds | undefined {
    return this.span?.ids;
  }

  /** Runs `work` so that the spans that it starts belong to the request. */
  run<T>(work: () => T): T {
    return this.span ? this.span.run(work) : work();
  }

  /** Runs the handler of an operation and looks at its reply. Returns the reply. */
  observe(
    operation: Operation,
    { payload }: RequestCall,
    handle: () => Promise<Reply> | Reply,
  ): Promise<Reply> | Reply {
    if (payload instanceof Uint8Array) this.#kind = operation.queryKind?.(payload);
    // Also for a caller that is refused. If the catalog fails, the line has no grant.
    if (this.audit) this.#grant = operation.audited?.(payload, this.audit).catch(() => undefined);
    const reply = this.run(handle);
    if (!(reply instanceof Promise)) this.#replied(operation, reply);
    // The caller handles the error.
    else
      reply.then(
        (value) => this.#replied(operation, value),
        () => {},
      );
    return reply;
  }

  #replied({ permission }: Operation, reply: Reply): void {
    this.#transaction = reply.headers?.["x-transaction-id"];
    this.#replyBytes = dataBytes(reply);
    if (permission === "read" || reply.kind !== "json") return;
    for (const [member, value] of Object.entries(reply.value ?? {})) {
      if (member === "version" && typeof value === "number") this.#version = value;
      const kind = ROW_COUNTS[member];
      if (kind === undefined || typeof value !== "number") continue;
      this.#rows ??= {};
      this.#rows[kind] = value;
    }
  }

  /** The statement of the request runs an operation, if its caller may. */
  part(
    operation: Operation,
    { id, payload }: Pick<Call<unknown, unknown>, "id" | "payload">,
  ): void {
    if (!this.audit) return;
    const audited = operation.audited?.(payload, this.audit);
    this.#parts.add(operation.id, id, audited && { payload, audited });
  }

  /** The statement of the request reads a table. */
  reads(id: readonly string[]): void {
    if (this.audit && this.operation) this.#parts.add(this.operation.id, id);
  }

  /** The reply has credentials. See Call.vends. */
  vends(session: string): void {
    this.#credentials = session;
  }

  /** The work of a request ends after the request: the audit log gets a second line. */
  endsLate(status: number, error?: JoustError): void {
    if (!this.audit) return;
    const entry = { ...this.#entry(status), after_end: true, error: error?.code } as const;
    this.#writeTo(this.audit.log, entry);
  }

  failed(error: JoustError): void {
    this.#error ??= error;
  }

  /** `status`: 499 if the client has disconnected. */
  finish(status: number): void {
    this.span?.end({
      status,
      attributes: {
        ...(this.object !== undefined && { "joust.object": this.object }),
        ...(this.#kind !== undefined && { "joust.query.kind": this.#kind }),
        ...(this.#transaction !== undefined && { "joust.transaction.id": this.#transaction }),
        ...(this.#error && { "joust.error.code": this.#error.code }),
      },
    });
    if (this.audit) this.#writeTo(this.audit.log, this.#entry(status));
  }

  #writeTo(log: AuditLog, entry: AuditEntry): void {
    const [grant, parts] = [this.#grant, this.#parts.all];
    if (!grant && !parts) {
      log.write(entry);
      return;
    }
    // The request may end before the catalog has named the subject of a grant.
    void Promise.all([grant, parts]).then(([grant, parts]) =>
      log.write({ ...entry, grant, parts }),
    );
  }

  #entry(status: number): AuditEntry {
    const { identity, requestId, started, headers, sentBytes } = this.request;
    return {
      time: new Date().toISOString(),
      request_id: requestId,
      trace_id: this.traceIds?.trace_id,
      remote: this.remote,
      identity: identity ? { id: identity.id, name: identity.name } : null,
      operation: this.operation?.id ?? null,
      object: this.object,
      query: this.#kind,
      transaction: this.#transaction,
      credentials: this.#credentials,
      version: this.#version,
      status,
      error: this.#error?.code,
      ms: Math.round((performance.now() - started) * 100) / 100,
      rows: this.#rows,
      request_bytes: headers.contentLength,
      // A stream that broke off has sent only a part.
      reply_bytes: sentBytes > 0 ? sentBytes : this.#replyBytes,
    };
  }
}

/** Bytes of a reply that is data and not streamed. */
function dataBytes(reply: Reply): number | undefined {
  if (reply.kind === "bytes") return reply.bytes.byteLength;
  return reply.kind === "arrow" && reply.answer.done ? reply.answer.first.byteLength : undefined;
}

/** The identifier in the path, joined by `$`; undefined if it is invalid. */
function objectOf(segment: string, query: string): string | undefined {
  try {
    const { delimiter = defaultDelimiter } = parseQuery(query);
    if (typeof delimiter !== "string" || delimiter === "") return undefined;
    return parseIdentifier(segment, delimiter).join(defaultDelimiter).slice(0, MAX_OBJECT);
  } catch {
    return undefined;
  }
}

/** The name and the port of a Host header. */
function hostOf(header: string): [name: string, port: number | undefined] {
  const [, name = "", port] = /^(.*?)(?::(\d{1,5}))?$/.exec(header) ?? [];
  return [name.replace(/^\[(.*)\]$/, "$1"), port === undefined ? undefined : Number(port)];
}
