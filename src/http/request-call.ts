import type { Attempt } from "../api/idempotency/idempotency.js";
import type { Call, Dialect } from "../api/operation.js";
import type { Identity } from "../auth/authenticator.js";
import type { Freshness } from "../tables/target.js";
import type { HttpRequest } from "./http-request.js";

/** The view of a request that the handler of an operation gets. */
export class RequestCall implements Call<unknown, unknown> {
  readonly requestId: string;
  readonly callerId: string;
  attempt: Attempt | undefined;
  readonly #request: HttpRequest;

  constructor(
    request: HttpRequest,
    readonly dialect: Dialect,
    readonly id: readonly string[],
    readonly database: readonly string[],
    readonly path: Readonly<Record<string, string>>,
    readonly params: unknown,
    readonly payload: unknown,
    readonly context: Readonly<Record<string, string>>,
    readonly fresh: Freshness,
    readonly timeLeftMs: number | undefined,
    readonly authorize: Call<unknown, unknown>["authorize"],
  ) {
    this.#request = request;
    this.requestId = request.requestId;
    this.callerId = (request.identity as Identity).id;
  }

  header(name: string): string {
    return this.#request.headers.get(name);
  }

  reads(id: readonly string[]): void {
    this.#request.record?.reads(id);
  }

  vends(session: string): void {
    this.#request.record?.vends(session);
  }

  onAbort(work: () => void): void {
    this.#request.onAbort(work);
  }
}
