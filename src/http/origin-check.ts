import { ErrorCode, JoustError } from "../foundation/errors.js";
import { isLoopback } from "../foundation/loopback.js";
import type { Headers } from "./headers.js";

/** The options that decide which origins may send requests. */
export interface OriginCheckSettings {
  readonly auth: "keys" | "none";
  readonly host: string;
  /** Other host names of the server. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may call the server (CORS). */
  readonly corsOrigins?: readonly string[];
}

/**
 * Checks the origin of requests to a server without keys.
 *
 * Such a server accepts every request on its host, also from the browser of a user who visits another
 * web site. A page of that site can make the browser send requests to the server, and can point its
 * host name to the server (DNS rebinding). The browser sets `Origin` to the page's origin and `Host` to
 * the host name of the request. A page cannot change either.
 *
 * A page of a CORS origin passes the check of `Origin`, because the operator names that origin. The check of `Host`
 * stays: it refuses every name that an attacker points to the server.
 */
export class OriginCheck {
  /** Valid host names of the server, beside loopback names. */
  readonly #hosts: ReadonlySet<string>;
  /** The host names that `--allowed-host` lists. Their pages may send requests too. */
  readonly #allowed: ReadonlySet<string>;
  readonly #corsOrigins: ReadonlySet<string>;

  private constructor({ host, allowedHosts, corsOrigins }: OriginCheckSettings) {
    this.#corsOrigins = new Set(corsOrigins);
    this.#allowed = new Set(allowedHosts.map((name) => name.toLowerCase()));
    this.#hosts = new Set([...this.#allowed, host.toLowerCase()]);
  }

  /** Undefined if the server requires keys. */
  static of(config: OriginCheckSettings): OriginCheck | undefined {
    return config.auth === "none" ? new OriginCheck(config) : undefined;
  }

  /** The error for a request of a forbidden origin; undefined if the request is allowed. */
  rejection(headers: Headers): JoustError | undefined {
    const host = headers.get("host");
    if (!this.#isServerHost(host)) {
      return forbidden(
        `the request was sent to the host ${quoted(host)}, and this server has another name: ` +
          "send it to 127.0.0.1 or localhost, start the server with --allowed-host, or use keys (--auth keys)",
      );
    }
    const origin = headers.get("origin");
    if (!headers.has("origin") || this.#isAllowedOrigin(origin, host)) return undefined;
    return forbidden(
      `pages of ${quoted(origin)} may not send requests to this server: ` +
        "start it with --allowed-host and that host or with --cors-origins and that origin, or use keys (--auth keys)",
    );
  }

  #isServerHost(host: string): boolean {
    const name = hostName(host);
    return name !== undefined && (isLoopback(name) || this.#hosts.has(name));
  }

  /** True for a page of this server, of an allowed host and of a CORS origin. */
  #isAllowedOrigin(origin: string, host: string): boolean {
    if (this.#corsOrigins.has(origin)) return true;
    const [, scheme, authority = ""] = /^(https?):\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? [];
    if (scheme === undefined) return false;
    if (scheme === "http" && withPort(authority) === withPort(host.toLowerCase())) return true;
    return this.#allowed.has(hostName(authority) ?? "");
  }
}

const forbidden = (message: string): JoustError =>
  new JoustError(ErrorCode.PermissionDenied, message);

const quoted = (text: string): string => JSON.stringify(text.slice(0, 80));

/** The name in `name:port` or `[::1]:port`, in lower case. The port is optional. */
function hostName(authority: string): string | undefined {
  const [, ipv6, name] = /^(?:\[([0-9a-f:.]+)\]|([^:@/\s]+))(?::\d*)?$/i.exec(authority) ?? [];
  return (ipv6 ?? name)?.toLowerCase();
}

const withPort = (authority: string): string =>
  /:\d+$/.test(authority) ? authority : `${authority.replace(/:$/, "")}:80`;
