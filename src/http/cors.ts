import type { Reply } from "../api/operation.js";
import type { Headers } from "./headers.js";

/** Headers of replies that pages may read. */
const exposed = [
  ...["accept-ranges", "content-range", "idempotent-replayed", "phalanx-version", "retry-after"],
  ...["x-joust-cursor", "x-lancedb-version", "x-request-id", "x-transaction-id"],
];

/**
 * Headers of requests that pages may set. `*` stands for every header but `authorization`; old browsers need the list.
 */
const allowedHeaders = [
  ...["authorization", "content-type", "idempotency-key", "range", "x-api-key", "x-request-id"],
  ...["x-request-timeout-ms", "x-lance-table-location", "x-lance-table-properties"],
  ...["x-lancedb-credential-type", "x-lancedb-database", "x-lancedb-min-timestamp"],
  ...["x-lancedb-min-version", "x-lancedb-min-read-version", "*"],
];

const preflightReply: Reply = {
  kind: "empty",
  status: 204,
  headers: {
    "access-control-allow-methods": "GET, HEAD, POST",
    "access-control-allow-headers": allowedHeaders.join(", "),
    // The longest time that Chromium accepts, seconds.
    "access-control-max-age": "7200",
  },
};

/**
 * Cross-origin resource sharing (the Fetch standard, 3.3) for the origins of `--cors-origins`. Replies never allow
 * credentials: a page must send a key or a token itself, and a browser has none to add.
 */
export class Cors {
  readonly #any: boolean;
  /** Headers of replies by the origin of the request. */
  readonly #byOrigin: ReadonlyMap<string, readonly string[]>;
  readonly #otherOrigin: readonly string[];

  /** `standard`: the headers of every reply, names and values in turn. */
  constructor(origins: readonly string[], standard: readonly string[]) {
    this.#any = origins.includes("*");
    const vary = this.#any ? [] : ["vary", "origin"];
    const allowing = (origin: string) => [
      ...[...standard, ...vary, "access-control-allow-origin", origin],
      ...["access-control-expose-headers", exposed.join(", ")],
    ];
    this.#byOrigin = new Map(origins.map((origin) => [origin, allowing(origin)]));
    this.#otherOrigin = this.#any ? allowing("*") : [...standard, ...vary];
  }

  /** The headers of the reply to a request, names and values in turn. */
  replyHeaders(headers: Headers): readonly string[] {
    return this.#byOrigin.get(headers.get("origin")) ?? this.#otherOrigin;
  }

  /** The reply to a preflight request of an allowed origin; undefined for every other request. */
  preflight(headers: Headers): Reply | undefined {
    if (!headers.has("access-control-request-method") || !headers.has("origin")) return undefined;
    return this.#any || this.#byOrigin.has(headers.get("origin")) ? preflightReply : undefined;
  }
}
