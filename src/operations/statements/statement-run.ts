import { replyForMissing } from "../../api/missing-object-reply.js";
import {
  type AuthorizedPart,
  type Call,
  jobOf,
  type Operation,
  type Reply,
  type ServiceName,
} from "../../api/operation.js";
import type { Services } from "../../api/services.js";
import { withTransactionRecord } from "../../api/transactions/transaction-record.js";
import { type BodyCheck, bodyCheckOf } from "../../api/validation/body-check.js";
import type { ArrowBody, SqlTable } from "../../engine/index.js";
import { idOf } from "./object-id.js";
import { sqlTarget, withRows } from "./statement-rows.js";

/** The services of the operations that statements run. */
export const statementServices = [
  "catalog",
  "config",
  "engine",
  "grants",
  "jobs",
  "log",
  "maintenance",
  "multipart",
  "threads",
  "transactions",
] as const satisfies readonly ServiceName[];

export type StatementServices = Pick<Services, (typeof statementServices)[number]>;

/** A statement as the engine reads it. */
export interface StatementBody {
  /** JSON `{query, parameters}`. */
  readonly body: Uint8Array;
  /** The tables that the statement reads: `SqlStatement.tables`. */
  readonly tables: readonly SqlTable[];
}

/** The part of a call that a statement needs. */
export interface StatementCall
  extends Pick<
    Call<unknown, unknown>,
    | "requestId"
    | "callerId"
    | "database"
    | "context"
    | "fresh"
    | "timeLeftMs"
    | "onAbort"
    | "authorize"
    | "reads"
  > {
  /** The namespace of names of one part: the database or below it. */
  readonly namespace: readonly string[];
  /** The request has the header Idempotency-Key, which only queries may have: it has no effect on them. */
  readonly hasIdempotencyKey: boolean;
  /** A statement that enqueues a job does not wait for it: its result is the job's id. */
  readonly respondAsync: boolean;
}

/** The reply of an operation as JSON. */
export interface JsonReply {
  readonly value: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The services of the operation that replied. */
  readonly services: Pick<StatementServices, "catalog">;
}

/** An operation as statements run it. */
export interface StatementOperation {
  readonly operation: Operation;
  /** Validator of its JSON body. */
  readonly body: BodyCheck | undefined;
}

/** Prepares an operation: the same records and the same validation as over HTTP. */
export const statementOperation = (operation: Operation): StatementOperation => ({
  operation: withTransactionRecord(operation),
  body: bodyCheckOf(operation),
});

/** What an operation is called with. */
interface Input {
  readonly id: readonly string[];
  readonly params?: object;
  readonly payload?: Record<string, unknown>;
  readonly path?: Readonly<Record<string, string>>;
}

const noRows = new Uint8Array(0);

/** A statement that runs: it runs operations for its caller. */
export class StatementRun {
  constructor(
    readonly services: StatementServices,
    readonly call: StatementCall,
    private readonly statement: StatementBody,
  ) {}

  /** The identifier of a table, view or schema that the statement names. */
  id(name: readonly string[]): Promise<string[]> {
    return idOf(this.services, name, this.call);
  }

  /** Runs an operation with a JSON body. @throws code 15 if the caller may not run it */
  async run(target: StatementOperation, input: Input): Promise<JsonReply> {
    const payload = input.payload ?? {};
    target.body?.validate(payload);
    let authorized: Authorized;
    try {
      authorized = await this.#authorize(target, input, payload);
    } catch (error) {
      return jsonReply(replyForMissing(error), this.services);
    }
    return handle(target, authorized);
  }

  /** Checks that the caller may run an operation, which runs later. @throws code 15 */
  async check(target: StatementOperation, input: Input): Promise<void> {
    await this.servicesFor(target, input);
  }

  /** What an operation that the caller may run would use. @throws code 15 */
  async servicesFor(target: StatementOperation, input: Input): Promise<AuthorizedPart["services"]> {
    return (await this.#authorize(target, input, input.payload ?? {})).services;
  }

  /**
   * Runs an operation with the rows of the statement. They are read after the caller is authorized.
   *
   * `changed`: the table that exists and gets the rows.
   */
  async runWithRows(
    target: StatementOperation,
    input: Omit<Input, "payload">,
    changed?: readonly string[],
  ): Promise<JsonReply> {
    const { call, services, admission } = await this.#authorize(target, input, noRows);
    const { fresh, timeLeftMs, database, namespace, onAbort } = this.call;
    const rows = {
      ...this.statement,
      changed: changed && (await sqlTarget(services, changed)),
      fresh,
      timeLeftMs,
      database,
      namespace,
      onAbort,
      reads: (id: readonly string[]) => this.call.reads?.(id),
      charge: (bytes: number) => admission?.chargeStorage(bytes),
    };
    return withRows(this.services, rows, (payload) =>
      handle(target, { call: { ...call, payload }, services, admission }),
    );
  }

  /** Runs an operation with an Arrow stream as its body. `body` is called after the caller is authorized. */
  async runWithBody(
    target: StatementOperation,
    input: Omit<Input, "payload">,
    body: () => ArrowBody,
  ): Promise<JsonReply> {
    const { call, ...authorized } = await this.#authorize(target, input, noRows);
    return handle(target, { call: { ...call, payload: body() }, ...authorized });
  }

  async #authorize(
    { operation }: StatementOperation,
    { id, params = {}, path = {} }: Input,
    payload: unknown,
  ): Promise<Authorized> {
    const { requestId, callerId, database, context, fresh, timeLeftMs } = this.call;
    const call: Call<unknown, unknown> = {
      dialect: "namespace",
      requestId,
      callerId,
      id,
      database,
      path,
      params,
      payload,
      context,
      fresh,
      attempt: undefined,
      timeLeftMs,
      // The headers of the request are for the statement.
      header: () => "",
      onAbort: (work) => this.call.onAbort(work),
      authorize: (other, inner) => this.call.authorize(other, inner),
    };
    return { call, ...(await this.call.authorize(operation, call)) };
  }
}

/** A call whose caller may run its operation, and what the handler may use. */
interface Authorized extends AuthorizedPart {
  readonly call: Call<unknown, unknown>;
}

async function handle(
  { operation }: StatementOperation,
  { call, services, admission }: Authorized,
): Promise<JsonReply> {
  const run = () => operation.handle(services, call);
  const reply = await (admission ? admission.run(call, run, jobOf) : run());
  return jsonReply(reply, services);
}

const jsonReply = (reply: Reply, services: JsonReply["services"]): JsonReply => ({
  value: reply.kind === "json" ? (reply.value as Record<string, unknown>) : {},
  headers: reply.headers ?? {},
  services,
});
