import type { IncomingMessage } from "node:http";
import type { TransportRequest } from "../transport.js";

/** A request of Node's HTTP server as a `TransportRequest`. */
export class NodeRequest implements TransportRequest {
  readonly #url: string;
  readonly #query: number;

  constructor(private readonly req: IncomingMessage) {
    const url = req.url ?? "/";
    // The request line of a proxy request contains an absolute URL.
    this.#url = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "") || "/";
    this.#query = this.#url.indexOf("?");
  }

  getUrl(): string {
    return this.#query < 0 ? this.#url : this.#url.slice(0, this.#query);
  }

  getMethod(): string {
    return (this.req.method ?? "").toLowerCase();
  }

  getQuery(): string | undefined {
    return this.#query < 0 ? undefined : this.#url.slice(this.#query + 1);
  }

  forEach(visit: (name: string, value: string) => void): void {
    const { rawHeaders } = this.req;
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
      visit((rawHeaders[at] as string).toLowerCase(), rawHeaders[at + 1] as string);
    }
  }
}
