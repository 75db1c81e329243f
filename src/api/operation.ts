import type { Static, TSchema } from "@sinclair/typebox";
import type { ArrowBody, QueryAnswer } from "../engine/index.js";
import type { JoustError } from "../foundation/errors.js";
import type { Freshness } from "../tables/target.js";
import type { Attempt } from "./idempotency/idempotency.js";
import type { Services } from "./services.js";

/** What a caller must be allowed to do. `read` < `write` < `admin`. */
export type Permission = "read" | "write" | "admin";

/** Which clients' conventions a request follows; told by the path (see dialects/). */
export type Dialect = "namespace" | "lancedb";

/** How a request body is taken in. */
export type Body<S extends TSchema = TSchema> =
  /**
   * Decoded and validated here; an absent body counts as `{}`. `orArrow`: or an Arrow IPC stream, which
   * is told by its content type.
   */
  | { kind: "json"; schema: S; orArrow?: true }
  /** JSON whose bytes go to the engine undecoded. The schema is for the API page only. */
  | { kind: "raw-json"; schema: TSchema }
  /** An Arrow IPC stream, handed to the engine as it comes, or in full where it is short. */
  | { kind: "arrow" }
  | { kind: "none" };

/** What a handler is given. Names are already split; parameters are already validated. */
export interface Call<Params, Payload> {
  readonly dialect: Dialect;
  readonly requestId: string;
  /** The object in the path: namespace components, then the object's name; [] is the root namespace. */
  readonly id: readonly string[];
  /** Further path parameters, decoded (`index_name`). */
  readonly path: Readonly<Record<string, string>>;
  readonly params: Params;
  readonly payload: Payload;
  /** `x-ns-ctx-*` headers and the body's `context`, merged. */
  readonly context: Readonly<Record<string, string>>;
  /** How new an answer must be. */
  readonly fresh: Freshness;
  /** Of a request that is to take effect once; see src/requests. */
  readonly attempt: Attempt | undefined;
  /** One request header, lower-case name; "" when absent. */
  header(name: string): string;
  /** Runs `work` when the client goes away before it has the answer. */
  onAbort(work: () => void): void;
}

/** Where the bytes of a long answer come from. */
export interface BlobSource {
  /** The bytes from `start` to before `end`. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Nothing more is read. */
  end(): void;
}

/** The bytes of a source that are to be sent. */
export interface BlobRange {
  readonly source: BlobSource;
  readonly start: number;
  readonly end: number;
}

/** What a handler gives back. */
export type Reply =
  | { kind: "json"; status?: number; value: unknown; headers?: Record<string, string> }
  /** JSON text that is already encoded. */
  | { kind: "encoded"; status?: number; text: string; headers?: Record<string, string> }
  /** Bytes that are there already. */
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
  /** Bytes of a known number, at least one, that are read as the peer takes them. */
  | ({
      kind: "blob";
      status?: number;
      contentType: string;
      headers?: Record<string, string>;
    } & BlobRange);

/**
 * Requests of an operation that need `admin`, where others of it need less: those that reach beyond what tables
 * hold.
 */
export interface Administrative {
  /** Which they are, for the error and the API page: completes "it needs admin to ...". */
  readonly to: string;
  /** Whether a request is one; it may look names up. */
  // biome-ignore lint/suspicious/noExplicitAny: as for Operation.handle
  includes(call: Call<any, any>, services: Services): boolean | Promise<boolean>;
}

/** One operation of the interface: everything the router, the validator, the metrics and the API page need. */
export interface Operation {
  /** The contract's operation id. */
  readonly id: string;
  /** Only this dialect has it, under the path as it stands. */
  readonly dialect?: "lancedb";
  readonly methods: readonly ("GET" | "POST")[];
  /** `/v1/table/{id}/describe`; `{id}` is the object, other names land in `path`. */
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly params: TSchema;
  readonly body: Body;
  /** Shape of a JSON reply, for the API page and the tests; absent when the reply is none. */
  readonly reply?: TSchema;
  readonly permission: Permission;
  readonly administrative?: Administrative;
  /** The operation changes no table and no namespace: it leaves no transaction (see recorded.ts). */
  // biome-ignore lint/suspicious/noExplicitAny: as for handle
  readonly unrecorded?: boolean | ((call: Call<any, any>, reply: Reply) => boolean);
  /** The handler, given an attempt that goes on with an earlier one, finds out what that one did. */
  readonly repeatable?: true;
  /**
   * The handler has a state that the process has once: it always runs in the first thread. There it
   * sees neither headers nor that the client goes away.
   */
  readonly mainThreadOnly?: true;
  /** Successful status (default 200). */
  readonly status?: number;
  // biome-ignore lint/suspicious/noExplicitAny: the registry holds operations of every shape
  handle(services: Services, call: Call<any, any>): Promise<Reply> | Reply;
}

/** A request's query parameters as they came: a repeated one is an array. */
export type RawParams = Readonly<Record<string, string | string[]>>;

/**
 * What one operation looks like in another dialect. Members left out are as in the canonical form.
 * The router adds a route for each; the rest of the pipeline sees only the canonical form.
 */
export interface Translation {
  /** Id of the operation it leads to. */
  readonly operation: string;
  /** Default: the operation's path plus "/". */
  readonly path?: string;
  /** Default: the operation's methods. */
  readonly methods?: readonly ("GET" | "POST")[];
  /** Query parameters to canonical ones, before they are converted and validated. */
  params?(params: RawParams): RawParams;
  /** A decoded JSON body to the canonical one, before it is validated. */
  body?(body: Record<string, unknown>): Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: as for Operation
  reply?(reply: Reply, call: Call<any, any>): Reply;
  /** A failure, wherever in the pipeline, to another one, or to a reply in its place. */
  failure?(error: JoustError): JoustError | Reply;
}

type PayloadOf<B extends Body> = B extends { kind: "json"; schema: infer S extends TSchema }
  ? Static<S> | (B extends { orArrow: true } ? ArrowBody : never)
  : B extends { kind: "raw-json" }
    ? Uint8Array
    : B extends { kind: "arrow" }
      ? ArrowBody
      : undefined;

/** Declares an operation; params and payload reach the handler with the static types of their schemas. */
export function operation<P extends TSchema, B extends Body>(
  declaration: Omit<Operation, "handle" | "params" | "body" | "administrative"> & {
    params: P;
    body: B;
    administrative?: {
      to: string;
      includes(call: Call<Static<P>, PayloadOf<B>>, services: Services): boolean | Promise<boolean>;
    };
    handle(services: Services, call: Call<Static<P>, PayloadOf<B>>): Promise<Reply> | Reply;
  },
): Operation {
  return declaration as Operation;
}
