import type { Static, TSchema } from "@sinclair/typebox";
import { leastRole, setOf } from "../catalog/grants/privileges.js";
import type { ArrowBody, QueryAnswer } from "../engine/index.js";
import type { JoustError } from "../foundation/errors.js";
import type { StoredTable } from "../limits/limiter.js";
import type { LimitedWork, RequestAdmission } from "../limits/request-admission.js";
import type { Freshness } from "../tables/target.js";
import type { AuditedGrant } from "../telemetry/audit/audit-log.js";
import type { Access } from "./access.js";
import type { ContentNames } from "./database.js";
import type { Attempt } from "./idempotency/idempotency.js";
import type { Services } from "./services.js";

/** The role that a caller needs. `read` < `write` < `admin`. */
export type Permission = "read" | "write" | "admin";

/** The clients whose conventions a request follows. The path decides (see dialects/). */
export type Dialect = "namespace" | "lancedb";

/** How the server reads a request body. */
export type Body<S extends TSchema = TSchema> =
  /**
   * The server decodes and validates JSON; an absent body counts as `{}`. With `orArrow` the content type
   * may select an Arrow IPC stream instead.
   */
  | { kind: "json"; schema: S; orArrow?: true }
  /** JSON that the engine decodes. The schema only documents it. */
  | { kind: "raw-json"; schema: TSchema }
  /** An Arrow IPC stream. The engine reads it while it arrives, or complete if it is short. */
  | { kind: "arrow" }
  | { kind: "none" };

/** The input of a handler. Names are already split; parameters are already validated. */
export interface Call<Params, Payload> {
  readonly dialect: Dialect;
  readonly requestId: string;
  /** The id of the caller; see Identity. */
  readonly callerId: string;
  /** The object in the path: namespace components, then the object's name; [] is the root namespace. */
  readonly id: readonly string[];
  /**
   * The namespace that the names in the content of the request are relative to; [] is the root. `id` is complete: it
   * begins with the database.
   */
  readonly database: readonly string[];
  /** Further path parameters, decoded (`index_name`). */
  readonly path: Readonly<Record<string, string>>;
  readonly params: Params;
  readonly payload: Payload;
  /** `x-ns-ctx-*` headers and the body's `context`, merged. */
  readonly context: Readonly<Record<string, string>>;
  /** How recent the state must be that the reply reports. */
  readonly fresh: Freshness;
  /** Time that the request has left, ms; undefined without a deadline. */
  readonly timeLeftMs: number | undefined;
  /** Present if the request is idempotent (see idempotency/). */
  readonly attempt: Attempt | undefined;
  /** One request header, lower-case name; "" when absent. */
  header(name: string): string;
  /** Runs `work` if the client disconnects before it has the reply. */
  onAbort(work: () => void): void;
  /**
   * Checks that the caller may run an operation with a call, for a handler that runs it: another operation, or its own
   * again after it waited. The credential of the caller must still be valid, too.
   *
   * @throws code 15, code 16, LimitExceeded
   */
  authorize(operation: Operation, call: Call<unknown, unknown>): Promise<AuthorizedPart>;
  /** For the audit log: the statement of the request reads a table. */
  reads?(id: readonly string[]): void;
  /** For the audit log: the reply has credentials. `session`: their name in the log of the store. */
  vends?(session: string): void;
}

/** An operation that the caller of a request may run as a part of it. */
export interface AuthorizedPart {
  /** For the handler of the operation. */
  readonly services: Services;
  /** What the limits count of it, if there are limits and it changes something. */
  readonly admission?: RequestAdmission | undefined;
}

/** A source of the bytes of a long reply. */
export interface BlobSource {
  /** The bytes from `start` to before `end`. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Releases the source. No read follows. */
  end(): void;
}

/** The bytes of a source that the reply holds. */
export interface BlobRange {
  readonly source: BlobSource;
  readonly start: number;
  readonly end: number;
}

/** The result of a handler. */
export type Reply =
  | { kind: "json"; status?: number; value: unknown; headers?: Record<string, string> }
  /** JSON text that is already encoded. */
  | { kind: "encoded"; status?: number; text: string; headers?: Record<string, string> }
  /** Bytes in memory. */
  | {
      kind: "bytes";
      status?: number;
      contentType: string;
      bytes: Uint8Array;
      headers?: Record<string, string>;
    }
  | { kind: "empty"; status?: number; headers?: Record<string, string> }
  | {
      kind: "arrow";
      contentType: string;
      answer: QueryAnswer;
      headers?: Record<string, string>;
    }
  /** At least one byte, of a known length. The server reads the source as fast as the client receives. */
  | ({
      kind: "blob";
      status?: number;
      contentType: string;
      headers?: Record<string, string>;
    } & BlobRange);

/** The job that a reply names. */
export function jobOf(reply: Reply): string | undefined {
  const value = reply.kind === "json" ? (reply.value as Record<string, unknown> | null) : undefined;
  const job = value?.job_id ?? value?.transaction_id;
  return typeof job === "string" ? job : undefined;
}

/**
 * The requests of an operation that need `admin` although the operation needs less: those whose effect
 * reaches beyond the contents of tables.
 */
export interface Administrative {
  /** Which requests they are, for the error and for OpenAPI: completes "it needs admin to ...". */
  readonly to: string;
  /** The object on which the privilege `manage` also admits them; default: the object of the request. */
  // biome-ignore lint/suspicious/noExplicitAny: as for Operation.handle
  on?(call: Call<any, any>): "server" | "object";
  /** Whether a request is one of them. It may read the catalog. */
  // biome-ignore lint/suspicious/noExplicitAny: as for Operation.handle
  includes(call: Call<any, any>, services: Services): boolean | Promise<boolean>;
}

/** The name of one service. */
export type ServiceName = keyof Services;

/** One operation: all that the router, the validator, the metrics and the OpenAPI document need. */
export interface Operation {
  /** The operation id of the Lance namespace specification. */
  readonly id: string;
  /** Present if only this dialect has the operation. Its path is then the complete path. */
  readonly dialect?: "lancedb";
  readonly methods: readonly ("GET" | "POST")[];
  /** `/v1/table/{id}/describe`; `{id}` is the object, other names become members of `Call.path`. */
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly params: TSchema;
  readonly body: Body;
  /** Schema of a JSON reply, for OpenAPI and the tests; absent for other replies. */
  readonly reply?: TSchema;
  /** What a caller needs that has no sufficient role. */
  // biome-ignore lint/suspicious/noExplicitAny: as for handle
  readonly access: Access<Call<any, any>, Services, Reply>;
  /** The least role that covers `access`. */
  readonly permission: Permission;
  readonly administrative?: Administrative;
  /** The names in its body and in its reply. */
  readonly contentNames?: ContentNames;
  /** What the limits count besides requests and uploaded bytes (see limits/). */
  readonly limited?: readonly LimitedWork[];
  /**
   * The tables that get rows or bytes, for the limit of "storage"; absent: the object of the path. The limit is checked
   * when the content of the request is known.
   */
  // biome-ignore lint/suspicious/noExplicitAny: as for handle
  storedTables?(call: Call<any, any>): readonly StoredTable[];
  /** The operation changes no table and no namespace, so it leaves no transaction record. */
  // biome-ignore lint/suspicious/noExplicitAny: as for handle
  readonly unrecorded?: boolean | ((call: Call<any, any>, reply: Reply) => boolean);
  /** The handler continues an earlier attempt of the same request: it finds out what that attempt did. */
  readonly repeatable?: true;
  /** The kind of a query, for the audit log and for traces: from its undecoded body, without any of its values. */
  queryKind?(body: Uint8Array): string;
  /** The grant that a request names, for the audit log. It contains no secret. */
  audited?(
    // biome-ignore lint/suspicious/noExplicitAny: as for handle
    payload: any,
    services: Pick<Services, "grants">,
  ): Promise<AuditedGrant>;
  /**
   * The handler needs state that exists once in the process, so it always runs on the main thread. There it
   * sees no headers and no deadline, and `onAbort` never runs.
   */
  readonly mainThreadOnly?: true;
  /** Successful status (default 200). */
  readonly status?: number;
  /** The services that the handler and `administrative` may use. */
  readonly uses: readonly ServiceName[];
  // biome-ignore lint/suspicious/noExplicitAny: the registry holds operations of every shape
  handle(services: Services, call: Call<any, any>): Promise<Reply> | Reply;
}

/** The query parameters as the client sent them. A repeated one is an array. */
export type RawParams = Readonly<Record<string, string | string[]>>;

/**
 * The form of one operation in another dialect. Absent members are as in the canonical form. The router
 * adds one route for each translation; the rest of the pipeline sees only the canonical form.
 */
export interface Translation {
  /** Id of the canonical operation. */
  readonly operation: string;
  /** Default: the operation's path plus "/". */
  readonly path?: string;
  /** Default: the operation's methods. */
  readonly methods?: readonly ("GET" | "POST")[];
  /** Makes the query parameters canonical, before their conversion and validation. `database`: see Call. */
  params?(params: RawParams, database: readonly string[]): RawParams;
  /** Makes a decoded JSON body canonical, before its validation. */
  body?(body: Record<string, unknown>): Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: as for Operation
  reply?(reply: Reply, call: Call<any, any>): Reply;
  /** Replaces a failure of any step of the pipeline by another failure or by a reply. */
  failure?(error: JoustError): JoustError | Reply;
}

type PayloadOf<B extends Body> = B extends { kind: "json"; schema: infer S extends TSchema }
  ? Static<S> | (B extends { orArrow: true } ? ArrowBody : never)
  : B extends { kind: "raw-json" }
    ? Uint8Array
    : B extends { kind: "arrow" }
      ? ArrowBody
      : undefined;

/**
 * Declares an operation. The static types of the handler follow from the declaration: params and payload from
 * their schemas, the services from `uses`. At run time the handler receives all services.
 */
export function operation<
  P extends TSchema,
  B extends Body,
  const Names extends readonly ServiceName[],
>(
  declaration: Omit<
    Operation,
    | "handle"
    | "params"
    | "body"
    | "access"
    | "permission"
    | "administrative"
    | "storedTables"
    | "audited"
    | "uses"
  > & {
    params: P;
    body: B;
    access: Access<Call<Static<P>, PayloadOf<B>>, Pick<Services, Names[number]>, Reply>;
    administrative?: {
      to: string;
      on?(call: Call<Static<P>, PayloadOf<B>>): "server" | "object";
      includes(
        call: Call<Static<P>, PayloadOf<B>>,
        services: Pick<Services, Names[number]>,
      ): boolean | Promise<boolean>;
    };
    storedTables?(call: Call<Static<P>, PayloadOf<B>>): readonly StoredTable[];
    audited?(payload: PayloadOf<B>, services: Pick<Services, "grants">): Promise<AuditedGrant>;
    uses: Names;
    handle(
      services: Pick<Services, Names[number]>,
      call: Call<Static<P>, PayloadOf<B>>,
    ): Promise<Reply> | Reply;
  },
): Operation {
  const { privileges, sometimes = [] } = declaration.access;
  const permission = leastRole(setOf([...privileges, ...sometimes]));
  return { ...declaration, permission } as Operation;
}
