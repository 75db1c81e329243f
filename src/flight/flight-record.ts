import type { Call, Operation } from "../api/operation.js";
import type { Services } from "../api/services.js";
import type { Identity } from "../auth/authenticator.js";
import type { FlightReport } from "../engine/index.js";
import { errorReply, type JoustError } from "../foundation/errors.js";
import type { AuditEntry, AuditLog } from "../telemetry/audit/audit-log.js";
import { AuditedParts } from "../telemetry/audit/audited-parts.js";
import { type RequestSpan, tracing } from "../telemetry/tracing.js";
import { httpStatus } from "./http-status.js";

const executeSql = "ExecuteSql";

/** What the audit log and the trace say about one call. */
export class FlightRecord {
  /** The operation that the call has run; undefined if it ran none. */
  operation: string | undefined;
  identity: Identity | undefined;
  transaction: string | undefined;
  error: JoustError | undefined;
  readonly #parts = new AuditedParts();
  readonly #span: RequestSpan | undefined;
  /** The line of the call that has ended. */
  #entry: AuditEntry | undefined;

  constructor(
    private readonly audit: AuditLog | undefined,
    private readonly requestId: string,
    private readonly remote: string,
    headers: Readonly<Record<string, string>>,
  ) {
    const { traceparent = "", tracestate = "", "user-agent": agent } = headers;
    this.#span = tracing?.startRequest(
      "Flight SQL",
      { traceparent, tracestate },
      {
        "rpc.system": "grpc",
        "rpc.service": "arrow.flight.protocol.FlightService",
        "client.address": remote,
        "joust.request.id": requestId,
        ...(agent !== undefined && { "user_agent.original": agent }),
      },
    );
  }

  /** Runs `work` so that the spans that it starts belong to the call. */
  run<T>(work: () => T): T {
    return this.#span ? this.#span.run(work) : work();
  }

  /** The statement of the call runs an operation, if its caller may. */
  part(
    operation: Operation,
    { id, payload }: Pick<Call<unknown, unknown>, "id" | "payload">,
    services: Pick<Services, "grants">,
  ): void {
    if (!this.audit) return;
    const audited = operation.audited?.(payload, services);
    this.#parts.add(operation.id, id, audited && { payload, audited });
  }

  /** The statement of the call reads a table. */
  reads(id: readonly string[]): void {
    if (this.audit) this.#parts.add(executeSql, id);
  }

  /** The work of a statement that may change something ends. After the end of the call it gets a line of its own. */
  changed(error?: JoustError): void {
    if (!this.#entry) return;
    this.#write({
      ...this.#entry,
      time: new Date().toISOString(),
      transaction: this.transaction,
      status: error ? (error.status ?? errorReply(error.code).status) : 200,
      error: error?.code,
      after_end: true,
    });
  }

  finish({ operation, status: code, ms, bytes }: FlightReport): void {
    const status = httpStatus(code);
    const { identity, transaction } = this;
    // A call can succeed although a statement of it failed: GetTables lists a table without columns then.
    const error = status >= 400 ? this.error : undefined;
    this.#span?.end({
      status,
      attributes: {
        "rpc.method": operation,
        ...(transaction !== undefined && { "joust.transaction.id": transaction }),
        ...(error && { "joust.error.code": error.code }),
      },
    });
    const entry: AuditEntry = {
      time: new Date().toISOString(),
      request_id: this.requestId,
      trace_id: this.#span?.ids?.trace_id,
      remote: this.remote,
      identity: identity ? { id: identity.id, name: identity.name } : null,
      operation: this.operation ?? `Flight.${operation}`,
      query: this.operation === undefined ? undefined : "sql",
      transaction,
      status,
      error: error?.code,
      ms: Math.round(ms * 100) / 100,
      reply_bytes: bytes > 0 ? bytes : undefined,
    };
    this.#entry = entry;
    this.#write(entry);
  }

  #write(entry: AuditEntry): void {
    const parts = this.#parts.all;
    if (!parts) this.audit?.write(entry);
    else void parts.then((parts) => this.audit?.write({ ...entry, parts }));
  }
}
