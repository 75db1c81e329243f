import { randomUUID } from "node:crypto";
import { invalidInput } from "../errors.js";
import type { UwsRequest } from "./uws-types.js";

const contextPrefix = "x-ns-ctx-";

/** The headers of a request, copied out of the parser; names in lower case. */
export class Headers {
  readonly #values = new Map<string, string>();
  #context: Record<string, string> | undefined;

  constructor(req: UwsRequest) {
    req.forEach((name, value) => {
      this.#values.set(name, value);
      if (name.startsWith(contextPrefix)) {
        this.#context ??= {};
        this.#context[name.slice(contextPrefix.length)] = value;
      }
    });
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

  /**
   * `x-lancedb-min-timestamp` (RFC 3339), ms since the epoch.
   * @throws JoustError (code 13) when it is no time.
   */
  minTimestampMillis(): number | undefined {
    const text = this.get("x-lancedb-min-timestamp");
    if (text === "") return undefined;
    const millis = Date.parse(text);
    if (Number.isNaN(millis)) {
      throw invalidInput(
        "`x-lancedb-min-timestamp` must be a time as in RFC 3339, such as 2026-01-31T12:00:00Z",
      );
    }
    return millis;
  }
}
