import type { Call, Dialect, Fresh } from "../operations/operation.js";
import type { Attempt } from "../requests/requests.js";
import type { Exchange } from "./exchange.js";

/** What a handler gets to see of its request. */
export class RequestCall implements Call<unknown, unknown> {
  readonly requestId: string;
  attempt: Attempt | undefined;
  readonly #exchange: Exchange;
  #abort: AbortController | undefined;

  constructor(
    exchange: Exchange,
    readonly dialect: Dialect,
    readonly id: readonly string[],
    readonly path: Readonly<Record<string, string>>,
    readonly params: unknown,
    readonly payload: unknown,
    readonly context: Readonly<Record<string, string>>,
    readonly fresh: Fresh,
  ) {
    this.#exchange = exchange;
    this.requestId = exchange.requestId;
  }

  header(name: string): string {
    return this.#exchange.headers.get(name);
  }

  /** Made at first use: most handlers are done before a client could go away. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      const controller = new AbortController();
      if (this.#exchange.aborted) controller.abort();
      else this.#exchange.onAbort(() => controller.abort());
      this.#abort = controller;
    }
    return this.#abort.signal;
  }
}
