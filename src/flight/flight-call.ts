import { databaseServices } from "../api/database.js";
import type { AuthorizedPart, Call, Operation } from "../api/operation.js";
import { prefersAsync } from "../api/prefer-header.js";
import type { Services } from "../api/services.js";
import { type Identity, unauthenticated } from "../auth/authenticator.js";
import { databaseScope } from "../auth/database-scope.js";
import { authorize, checkPermission } from "../auth/permission.js";
import type {
  FlightEvent,
  FlightIngest,
  FlightReply,
  FlightReport,
  SqlColumn,
} from "../engine/index.js";
import {
  asJoustError,
  ErrorCode,
  errorReply,
  hasCode,
  type JoustError,
} from "../foundation/errors.js";
import { authorizePart } from "../http/authorize-part.js";
import { checkLasts, RequestDeadline } from "../http/request-deadline.js";
import { LimitExceeded } from "../limits/limit-exceeded.js";
import type { RequestAdmission } from "../limits/request-admission.js";
import { executeSql } from "../operations/queries/execute-sql.js";
import {
  describeStatement,
  executeStatement,
  type Statement,
} from "../operations/queries/execute-statement.js";
import { ingestRows } from "../operations/statements/ingest-rows.js";
import { countOf } from "../operations/statements/statement-result.js";
import { StatementRun } from "../operations/statements/statement-run.js";
import { readFreshness } from "../tables/freshness.js";
import { keyOf } from "./credentials.js";
import type { FlightDependencies } from "./flight-calls.js";
import { FlightRecord } from "./flight-record.js";
import { MeteredUpload } from "./metered-upload.js";
import { namespacePath } from "./namespace-path.js";

/** A statement that waits for its answer. */
interface Pending {
  readonly reply: FlightReply;
  /** The statement runs and is not only planned. */
  readonly executes: boolean;
  /** The table of rows that are ingested. */
  readonly ingest?: FlightIngest | undefined;
  /** It changes something. */
  hasChanges: boolean;
}

/**
 * One call of a Flight SQL client. A statement of it passes the same steps as a request to `POST /v1/sql`:
 *
 * 1. `identify`: authenticate the caller, count the call for its limits, and start its deadline.
 * 2. `answer`: check that the caller may run ExecuteSql, and restrict what it sees; count the query for the limits; plan
 *    or run the statement. Each change that it makes is authorized as the operation that does it.
 * 3. `end`: release what the call holds, and write the audit log.
 */
export class FlightCall {
  readonly #headers: Readonly<Record<string, string>>;
  readonly #requestId: string;
  readonly #remote: string;
  readonly #record: FlightRecord;
  #identity: Identity | undefined;
  #deadline: RequestDeadline | undefined;
  #query: RequestAdmission | undefined;
  /** A client that lists tables with their columns has several. */
  readonly #pending = new Set<Pending>();
  /** The deadline ended the call before its statement began. */
  #overdue: JoustError | undefined;
  /** Statements that the call has run: one for each row of parameters. */
  #executed = 0;
  /** A statement of the call changes something. A call may run several. */
  #hasChanges = false;
  /** The client does not wait for the statement any more. */
  #cancelled = false;
  #hasEnded = false;
  /** Work to run if the client disconnects. */
  #abortWorks: (() => void)[] = [];

  constructor(
    private readonly dependencies: FlightDependencies,
    { headers, remote, requestId, report }: FlightEvent,
  ) {
    this.#headers = headers ?? {};
    this.#remote = remote ?? "";
    this.#requestId = requestId ?? report?.requestId ?? "";
    const { audit } = dependencies.services;
    this.#record = new FlightRecord(audit, this.#requestId, this.#remote, this.#headers);
  }

  /** Never throws. */
  identify(reply: FlightReply): void {
    this.#identify(reply).catch((error) => this.#fail(reply, error));
  }

  /** Plans or runs a statement. Never throws. */
  answer(kind: "describe" | "execute" | "ingest", event: FlightEvent, reply: FlightReply): void {
    const pending = {
      reply,
      executes: kind !== "describe",
      ingest: event.ingest,
      hasChanges: false,
    };
    this.#pending.add(pending);
    this.#record
      .run(() => this.#answer(pending, event))
      .then(() => pending.hasChanges && this.#record.changed())
      .catch((error) => {
        this.#fail(reply, this.#endedBy(error) ?? error);
        if (pending.hasChanges) this.#record.changed(asJoustError(error));
      })
      .finally(() => {
        this.#pending.delete(pending);
        if (this.#pending.size === 0) this.#abortWorks = [];
      });
  }

  /** The client has disconnected before it had the answer. */
  abort(): void {
    this.#cancelled = true;
    for (const work of this.#abortWorks.splice(0)) work();
  }

  /** The call has ended. */
  end(report: FlightReport): void {
    this.#hasEnded = true;
    this.#deadline?.clear();
    this.#query?.end();
    this.#record.finish(report);
  }

  async #identify(reply: FlightReply): Promise<void> {
    const { authenticator, limiter, services } = this.dependencies;
    const key = this.#key;
    let identity: Identity | undefined;
    try {
      identity = await authenticator.identify(key);
      if (!identity) throw unauthenticated();
    } catch (error) {
      if (limiter && hasCode(error, ErrorCode.Unauthenticated)) {
        limiter.admitUnauthenticated(this.#remote, this.#header("x-forwarded-for"));
      }
      throw error;
    }
    this.#identity = this.#record.identity = identity;
    if (limiter) {
      const namespace = await this.#limitedNamespace(identity);
      limiter.admit({ caller: identity, namespace, work: [] });
    }
    const headers = {
      has: (name: string) => this.#headers[name] !== undefined,
      get: (name: string) => this.#header(name),
    };
    const { requestTimeoutMs } = services.config;
    this.#deadline = RequestDeadline.start(
      headers,
      requestTimeoutMs,
      performance.now(),
      this.#expire,
    );
    if (this.#hasEnded) this.#deadline?.clear();
    reply.identified(identity.id, key, this.#deadline?.leftMs);
  }

  /** The database of the connection: every call in it counts for it. A missing one fails later. */
  async #limitedNamespace(identity: Identity): Promise<readonly string[] | undefined> {
    const name = this.#header("database") || this.#header("x-lancedb-database");
    if (name === "") return undefined;
    try {
      return await databaseScope(this.dependencies.services, identity, name);
    } catch {
      return undefined;
    }
  }

  async #answer({ reply, executes, ingest }: Pending, event: FlightEvent): Promise<void> {
    const identity = this.#requireIdentity();
    const { services, limiter } = this.dependencies;
    if (this.#overdue) throw this.#overdue;
    if (executes) this.#record.operation = executeSql.id;
    checkPermission(executeSql, identity, services.grants);
    const body = event.body ?? new Uint8Array();
    const name = event.database ?? this.#header("x-lancedb-database");
    const database = name === "" ? [] : await databaseScope(services, identity, name);
    const limited = database.length > 0 ? database : undefined;
    // Nothing would end what a call counts after its end.
    checkLasts({ cancelled: this.#hasEnded });
    if (executes && this.#executed++ > 0) limiter?.chargeRequest(identity);
    this.#query ??= limiter?.query(identity, limited);
    const call = this.#call(body, database);
    const existing = databaseServices(services, database);
    const visible = await authorize(executeSql, identity, call, existing);
    const namespace = [...database, ...namespacePath(event.namespacePath)];
    const statement = {
      ...call,
      body,
      namespace,
      hasIdempotencyKey: false,
      respondAsync: prefersAsync(this.#header("prefer")),
      onChange: (columns: SqlColumn[]) => reply.begins(columns),
    };
    const work = ingest
      ? this.#ingest(visible, statement, ingest, reply)
      : executes
        ? this.#execute(visible, statement, reply)
        : this.#describe(visible, statement, reply);
    await (this.#query?.during(work) ?? work);
  }

  async #describe(services: Services, statement: Statement, reply: FlightReply): Promise<void> {
    const described = await describeStatement(services, statement);
    if (described.kind === "planned") reply.described(described.description);
    else reply.describedAs(described.columns, described.parameters);
  }

  async #execute(services: Services, statement: Statement, reply: FlightReply): Promise<void> {
    const { engine } = services;
    const executed = await executeStatement(services, statement, (options) =>
      engine.sqlRows(statement.body, options),
    );
    if (executed.kind === "rows") {
      // From here on the engine ends the rows at the deadline: a long statement has sent its columns by then.
      const overdue = this.#deadline?.exceeded("read").message;
      this.#deadline?.clear();
      reply.rows(executed.rows, overdue);
      return;
    }
    const { result } = executed;
    this.#record.transaction = result.headers["x-transaction-id"];
    const count = countOf(result);
    if (result.columns.length === 0) reply.changed();
    else if (count !== undefined) reply.changed(count);
    else reply.rows(await engine.sqlResultRows(result.columns));
  }

  async #ingest(
    services: Services,
    statement: Statement,
    target: FlightIngest,
    reply: FlightReply,
  ): Promise<void> {
    const run = new StatementRun(services, statement, { body: statement.body, tables: [] });
    const { maxUploadBytes } = services.config;
    let metered: MeteredUpload | undefined;
    try {
      const { headers } = await ingestRows(run, target, (id) => {
        const caller = this.#requireIdentity();
        const namespace = id.slice(0, -1);
        const limited = this.dependencies.limiter?.part({ caller, namespace, work: ["storage"] });
        limited?.checkUpload();
        const most = maxUploadBytes > 0 ? maxUploadBytes : undefined;
        const upload = reply.upload(services.engine, most);
        const abort = () => upload.abort();
        statement.onAbort(abort);
        if (limited) {
          metered = new MeteredUpload(limited, { bytes: () => reply.uploadedBytes, abort });
        }
        return upload;
      });
      this.#record.transaction = headers["x-transaction-id"];
      reply.changed();
    } catch (error) {
      throw metered?.end() ?? error;
    } finally {
      metered?.end();
    }
  }

  /** The call as the operation of a statement has it. */
  #call(payload: Uint8Array, database: readonly string[]): Call<object, Uint8Array> {
    return {
      dialect: "namespace",
      requestId: this.#requestId,
      callerId: this.#requireIdentity().id,
      id: database,
      database,
      path: {},
      params: {},
      payload,
      context: {},
      fresh: readFreshness((name) => this.#header(name)),
      timeLeftMs: this.#deadline?.leftMs,
      attempt: undefined,
      header: (name) => this.#header(name),
      onAbort: (work) => this.#onAbort(work),
      authorize: (operation, call) => this.#authorizePart(operation, call),
      reads: (id) => this.#record.reads(id),
    };
  }

  async #authorizePart(
    operation: Operation,
    call: Call<unknown, unknown>,
  ): Promise<AuthorizedPart> {
    const identity = await this.#identifyAgain();
    this.#record.part(operation, call, this.dependencies.services);
    const authorized = await authorizePart(this.dependencies, identity, operation, call);
    if (operation.permission === "read") return authorized;
    // A statement that changes something is the only one of its call that runs.
    const [pending] = this.#pending;
    if (!pending?.hasChanges) checkLasts({ cancelled: this.#cancelled });
    if (pending) pending.hasChanges = true;
    this.#hasChanges = true;
    return authorized;
  }

  #onAbort(work: () => void): void {
    if (this.#cancelled) work();
    else this.#abortWorks.push(work);
  }

  /** Ends the statement that waits at the deadline of the call. */
  readonly #expire = (): void => {
    const deadline = this.#deadline as RequestDeadline;
    if (this.#pending.size === 0) {
      this.#overdue = deadline.exceeded("nothing");
      return;
    }
    if (!this.#hasChanges) this.abort();
    const outcome = this.#hasChanges ? "unknown" : "read";
    for (const { reply } of this.#pending) this.#fail(reply, deadline.exceeded(outcome));
  };

  /** The error of work that ended at the deadline. */
  #endedBy(error: unknown): unknown {
    return this.#deadline?.endedBy(error, this.#hasChanges ? "unknown" : "read");
  }

  /** Only the first answer of a reply has an effect. */
  #fail(reply: FlightReply, error: unknown): void {
    const failure = asJoustError(error);
    const { code, message, status, cause } = failure;
    this.#record.error ??= failure;
    const http = status ?? errorReply(code).status;
    const wait = failure instanceof LimitExceeded ? failure.retryAfterSeconds : undefined;
    reply.fail(code, http, message, causeText(cause), wait);
  }

  /** The key may have been revoked since the call began. A statement that has changed something must not stop half-way. */
  async #identifyAgain(): Promise<Identity> {
    const [pending] = this.#pending;
    if (pending?.hasChanges) return this.#requireIdentity();
    const identity = await this.dependencies.authenticator.identify(this.#key);
    if (!identity) throw unauthenticated();
    this.#identity = identity;
    return identity;
  }

  get #key(): string {
    return keyOf((name) => this.#headers[name]);
  }

  #requireIdentity(): Identity {
    if (this.#identity) return this.#identity;
    throw new Error("a statement has no caller");
  }

  /** "" when absent. */
  #header(name: string): string {
    return this.#headers[name] ?? "";
  }
}

/** What only the log shows. */
function causeText(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { internal } = cause as { internal?: unknown };
  return typeof internal === "string" ? internal : cause.stack;
}
