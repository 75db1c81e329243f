import { randomUUID } from "node:crypto";
import { freshnessPrefix, readFreshness } from "../tables/freshness.js";
import type { Freshness } from "../tables/target.js";
import type { TransportRequest } from "./transport/transport.js";

/** LanceDB clients send it with every request of a connection to `db://NAME`, or of one that a catalog returned. */
const DATABASE_HEADER = "x-lancedb-database";
const FORWARDED_FOR = "x-forwarded-for";
const contextPrefix = "x-ns-ctx-";
const noFreshness: Freshness = Object.freeze({});

/** Headers that a request must not repeat: proxies differ in the value that they use. */
const singleHeaders = ["content-length", "transfer-encoding", "host", DATABASE_HEADER];

/** The headers of a request, copied from the parser. Names are in lower case. */
export class Headers {
  readonly #values = new Map<string, string>();
  #context: Record<string, string> | undefined;
  #hasFreshness = false;
  /**
   * Why the framing of the request is ambiguous; undefined if it is not. A proxy in front of this server
   * may see another end of such a body: request smuggling (RFC 9112, 11.2).
   */
  readonly framingError: string | undefined;

  constructor(req: TransportRequest) {
    let lines = 0;
    req.forEach((name, value) => {
      lines++;
      this.#values.set(name, value);
      if (name.startsWith(contextPrefix)) {
        this.#context ??= {};
        this.#context[name.slice(contextPrefix.length)] = value;
      } else if (name.startsWith(freshnessPrefix)) this.#hasFreshness = true;
    });
    const repeated = lines > this.#values.size ? req : undefined;
    // Some proxies append a line instead of an address. Several lines are one list (RFC 9110, 5.3).
    if (repeated && this.#values.has(FORWARDED_FOR)) {
      this.#values.set(FORWARDED_FOR, valuesOf(repeated, FORWARDED_FOR).join(", "));
    }
    this.framingError = this.#framingError(repeated);
  }

  /** `repeated`: the request if it repeats a header, else undefined. */
  #framingError(repeated: TransportRequest | undefined): string | undefined {
    const encoding = this.#values.get("transfer-encoding");
    const length = this.#values.get("content-length");
    if (length !== undefined && !/^\d{1,15}$/.test(length)) {
      return "`Content-Length` must be one decimal number of bytes";
    }
    if (encoding !== undefined) {
      if (length !== undefined) {
        return "send either `Content-Length` or `Transfer-Encoding`, not both";
      }
      if (encoding.toLowerCase() !== "chunked") {
        return "`Transfer-Encoding` must be `chunked`: no other one is supported";
      }
    }
    const twice = repeated && singleHeaders.find((name) => valuesOf(repeated, name).length > 1);
    return twice && `\`${twice}\` occurs more than once: send it once`;
  }

  /** True also for an empty value: the parser returns "" for a value that is not ASCII. */
  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** "" when absent. */
  get(name: string): string {
    return this.#values.get(name) ?? "";
  }

  /** The `x-ns-ctx-<key>` headers by key; undefined if there are none. */
  get context(): Record<string, string> | undefined {
    return this.#context;
  }

  /** The database that the client selected; "" if there is none. */
  get database(): string {
    return this.get(DATABASE_HEADER);
  }

  /** The API key; "" if there is none. */
  get key(): string {
    const authorization = this.get("authorization");
    if (authorization !== "") {
      return authorization.slice(0, 7).toLowerCase() === "bearer "
        ? authorization.slice(7).trim()
        : "";
    }
    return this.get("x-api-key");
  }

  /** Whether the request has credentials, well-formed or not. */
  get hasCredentials(): boolean {
    return this.#values.has("authorization") || this.#values.has("x-api-key");
  }

  /** Whether a body follows: `Content-Length` or `Transfer-Encoding` announces it. */
  get announcesBody(): boolean {
    const length = this.get("content-length");
    return (length !== "" && length !== "0") || this.#values.has("transfer-encoding");
  }

  /** Bytes of the body; undefined without `Content-Length`. */
  get contentLength(): number | undefined {
    const length = this.get("content-length");
    return /^\d+$/.test(length) ? Number(length) : undefined;
  }

  /** Media type without parameters, in lower case; "" if absent. */
  get mediaType(): string {
    const type = this.get("content-type");
    const end = type.indexOf(";");
    return (end < 0 ? type : type.slice(0, end)).trim().toLowerCase();
  }

  /** The request id that the client sent if it is well-formed, else a new UUID. */
  requestId(): string {
    const sent = this.get("x-request-id");
    return sent !== "" && /^[\w.:-]{1,128}$/.test(sent) ? sent : randomUUID();
  }

  /** How new the data of the reply must be. @throws code 13 for a malformed header */
  fresh(): Freshness {
    if (!this.#hasFreshness) return noFreshness;
    return readFreshness((name) => this.get(name));
  }
}

/** The values of all lines of a header, in order. */
function valuesOf(req: TransportRequest, wanted: string): string[] {
  const values: string[] = [];
  req.forEach((name, value) => {
    if (name === wanted) values.push(value);
  });
  return values;
}
