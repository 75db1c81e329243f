import type { Attempt } from "../api/idempotency/idempotency.js";
import type { Call, Dialect } from "../api/operation.js";
import type { Freshness } from "../tables/target.js";
import type { Exchange } from "./exchange.js";

/** What a handler gets to see of its request. */
export class RequestCall implements Call<unknown, unknown> {
  readonly requestId: string;
  attempt: Attempt | undefined;
  readonly #exchange: Exchange;

  constructor(
    exchange: Exchange,
    readonly dialect: Dialect,
    readonly id: readonly string[],
    readonly path: Readonly<Record<string, string>>,
    readonly params: unknown,
    readonly payload: unknown,
    readonly context: Readonly<Record<string, string>>,
    readonly fresh: Freshness,
  ) {
    this.#exchange = exchange;
    this.requestId = exchange.requestId;
  }

  header(name: string): string {
    return this.#exchange.headers.get(name);
  }

  onAbort(work: () => void): void {
    if (this.#exchange.aborted) work();
    else this.#exchange.onAbort(work);
  }
}
