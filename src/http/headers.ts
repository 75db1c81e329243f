import { randomUUID } from "node:crypto";
import { invalidInput } from "../foundation/errors.js";
import type { Freshness } from "../tables/target.js";
import type { TransportRequest } from "./transport/transport.js";

const contextPrefix = "x-ns-ctx-";
const freshPrefix = "x-lancedb-min-";
const minTimestampHeader = `${freshPrefix}timestamp`;
const minVersionHeaders = [`${freshPrefix}version`, `${freshPrefix}read-version`];
const anyAge: Freshness = Object.freeze({});

/** Headers that a request must not repeat: proxies differ in which of the values they use. */
const single = ["content-length", "transfer-encoding", "host"];

/** The headers of a request, copied out of the parser; names in lower case. */
export class Headers {
  readonly #values = new Map<string, string>();
  #context: Record<string, string> | undefined;
  #asksForFresh = false;
  /**
   * Why the framing of the request is ambiguous, undefined when it is not. A proxy in front may find the
   * end of such a body elsewhere than this server does: request smuggling (RFC 9112, 11.2).
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
      } else if (name.startsWith(freshPrefix)) this.#asksForFresh = true;
    });
    this.framingError = this.#framingError(lines > this.#values.size ? req : undefined);
  }

  /** `repeating`: the request, if any of its headers is repeated. */
  #framingError(repeating: TransportRequest | undefined): string | undefined {
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
    const twice = repeating && single.find((name) => count(repeating, name) > 1);
    return twice && `\`${twice}\` occurs more than once: send it once`;
  }

  /** Also of a header whose value is none: the parser gives "" for what is not ASCII. */
  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** "" when absent. */
  get(name: string): string {
    return this.#values.get(name) ?? "";
  }

  /** What `x-ns-ctx-<key>` headers say; undefined when there are none. */
  get context(): Record<string, string> | undefined {
    return this.#context;
  }

  /** The key that the caller presents, "" when none. */
  get key(): string {
    const authorization = this.get("authorization");
    if (authorization !== "") {
      return authorization.slice(0, 7).toLowerCase() === "bearer "
        ? authorization.slice(7).trim()
        : "";
    }
    return this.get("x-api-key");
  }

  /** Whether the caller tries to say who it is, well-formed or not. */
  get presentsIdentity(): boolean {
    return this.#values.has("authorization") || this.#values.has("x-api-key");
  }

  /** Whether a body is announced: a request with neither of the two has none. */
  get announcesBody(): boolean {
    const length = this.get("content-length");
    return (length !== "" && length !== "0") || this.#values.has("transfer-encoding");
  }

  /** Bytes of the body; undefined when it is not said before. */
  get contentLength(): number | undefined {
    const length = this.get("content-length");
    return /^\d+$/.test(length) ? Number(length) : undefined;
  }

  /** Media type without parameters, lower case; "" when absent. */
  get mediaType(): string {
    const type = this.get("content-type");
    const end = type.indexOf(";");
    return (end < 0 ? type : type.slice(0, end)).trim().toLowerCase();
  }

  /** The caller's own request id when it is well-formed, else a new UUID. */
  requestId(): string {
    const own = this.get("x-request-id");
    return own !== "" && /^[\w.:-]{1,128}$/.test(own) ? own : randomUUID();
  }

  /** @throws JoustError (code 13) when a header is not what its name says. */
  fresh(): Freshness {
    if (!this.#asksForFresh) return anyAge;
    const minTimestampMillis = this.#minTimestampMillis();
    const versions = minVersionHeaders.map((name) => this.#minVersion(name));
    const minVersion = Math.max(...versions.map((version) => version ?? -1));
    return {
      ...(minTimestampMillis !== undefined && { minTimestampMillis }),
      ...(minVersion >= 0 && { minVersion }),
    };
  }

  #minTimestampMillis(): number | undefined {
    const text = this.get(minTimestampHeader);
    if (text === "") return undefined;
    const millis = Date.parse(text);
    if (Number.isNaN(millis)) {
      throw invalidInput(
        `\`${minTimestampHeader}\` must be a time as in RFC 3339, such as 2026-01-31T12:00:00Z`,
      );
    }
    return millis;
  }

  #minVersion(name: string): number | undefined {
    const text = this.get(name);
    if (text === "") return undefined;
    const version = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!Number.isSafeInteger(version)) {
      throw invalidInput(`\`${name}\` must be a version: an integer >= 0`);
    }
    return version;
  }
}

/** How many headers of that name a request has. */
function count(req: TransportRequest, wanted: string): number {
  let found = 0;
  req.forEach((name) => {
    if (name === wanted) found++;
  });
  return found;
}
