import { ErrorCode, JoustError } from "../foundation/errors.js";
import { isLoopback } from "../foundation/loopback.js";
import type { Headers } from "./headers.js";

/** The part of the server's configuration that tells who may send requests. */
export interface CallerSettings {
  readonly auth: "keys" | "none";
  readonly host: string;
  /** Further names by which clients reach the server. */
  readonly allowedHosts: readonly string[];
}

/**
 * Where requests of a server without keys may come from.
 *
 * Such a server answers everybody on its host, also the browser of a person who looks at a foreign page. The page
 * can have the browser send requests here, and can make its own name lead here (DNS rebinding). A browser says in
 * `Origin` which page sends a request, and in `Host` by which name it found the server: neither can be set by
 * a page.
 */
export class Callers {
  /** Names by which the server may be found; loopback names always are. */
  readonly #hosts: ReadonlySet<string>;
  /** Names of them that the operator has allowed by name: pages of theirs may send requests too. */
  readonly #allowed: ReadonlySet<string>;

  private constructor({ host, allowedHosts }: CallerSettings) {
    this.#allowed = new Set(allowedHosts.map((name) => name.toLowerCase()));
    this.#hosts = new Set([...this.#allowed, host.toLowerCase()]);
  }

  /** Undefined where keys tell who may send requests. */
  static of(config: CallerSettings): Callers | undefined {
    return config.auth === "none" ? new Callers(config) : undefined;
  }

  /** What is wrong with where a request comes from; undefined when nothing is. */
  refusal(headers: Headers): JoustError | undefined {
    const host = headers.get("host");
    if (!this.#isOwn(host)) {
      return foreign(
        `the request was sent to the host ${quoted(host)}, which is not this server's: ` +
          "send it to 127.0.0.1 or localhost, start the server with --allowed-host, or use keys (--auth keys)",
      );
    }
    const origin = headers.get("origin");
    if (!headers.has("origin") || this.#isAllowed(origin, host)) return undefined;
    return foreign(
      `pages of ${quoted(origin)} may not send requests to this server: ` +
        "start it with --allowed-host and that host, or use keys (--auth keys)",
    );
  }

  #isOwn(host: string): boolean {
    const name = hostName(host);
    return name !== undefined && (isLoopback(name) || this.#hosts.has(name));
  }

  /** A page of this server's own, or of a host that is allowed. */
  #isAllowed(origin: string, host: string): boolean {
    const [, scheme, authority = ""] = /^(https?):\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? [];
    if (scheme === undefined) return false;
    if (scheme === "http" && withPort(authority) === withPort(host.toLowerCase())) return true;
    return this.#allowed.has(hostName(authority) ?? "");
  }
}

const foreign = (message: string): JoustError =>
  new JoustError(ErrorCode.PermissionDenied, message);

const quoted = (text: string): string => JSON.stringify(text.slice(0, 80));

/** The name in `name:port`, `[::1]:port` or either without a port, in lower case. */
function hostName(authority: string): string | undefined {
  const [, ipv6, name] = /^(?:\[([0-9a-f:.]+)\]|([^:@/\s]+))(?::\d*)?$/i.exec(authority) ?? [];
  return (ipv6 ?? name)?.toLowerCase();
}

const withPort = (authority: string): string =>
  /:\d+$/.test(authority) ? authority : `${authority.replace(/:$/, "")}:80`;
