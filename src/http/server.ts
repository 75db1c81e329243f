import { createServer } from "node:net";
import { type Authenticator, known } from "../auth/authenticator.js";
import { ErrorCode, JoustError } from "../errors.js";
import type { Operation, Reply, Translation } from "../operations/operation.js";
import { Exchange, type Host } from "./exchange.js";
import { Handling, type Rooms } from "./handling.js";
import { Headers } from "./headers.js";
import { problemStatus } from "./problem.js";
import { routes } from "./route.js";
import { type Match, Router } from "./router.js";
import { loadUws } from "./uws.js";
import type { Uws, UwsListenSocket, UwsRequest, UwsResponse } from "./uws-types.js";

export interface ServerOptions extends Rooms {
  readonly operations: readonly Operation[];
  readonly translations: readonly Translation[];
  /** What anybody may fetch: what is served at a path, undefined for nothing. */
  page(path: string): Reply | undefined;
}

/** Interval at which long streams are looked after; must be under the socket's limit of 10 s. */
const tickInterval = 4_000;

/** After the last answer of a drain: time for connections that were quiet to send what is already on its way. */
const quietTime = 200;

/** The HTTP server: takes requests off uWebSockets.js and sees each through to its answer. */
export class Server implements Host {
  readonly inFlight = new Set<Exchange>();
  #draining = false;
  #lastRequest = 0;
  #listening: UwsListenSocket | undefined;
  #ticker: NodeJS.Timeout | undefined;
  readonly #uws: Uws;
  readonly #router: Router;
  readonly #authenticator: Authenticator;
  readonly #logsRequests: boolean;

  constructor(private readonly options: ServerOptions) {
    this.#uws = loadUws();
    this.#router = new Router(routes(options.operations, options.translations));
    this.#authenticator = options.authenticator;
    this.#logsRequests = options.services.log.isLevelEnabled("debug");
  }

  /** Resolves to the port, which the system chooses when it is given as 0. */
  listen(host: string, port: number): Promise<number> {
    const { App, LIBUS_LISTEN_EXCLUSIVE_PORT, us_socket_local_port } = this.#uws;
    return new Promise((resolve, reject) => {
      App()
        .any("/*", (res, req) => this.#guard(res, () => this.#accept(res, req)))
        .listen(host, port, LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
          if (!socket) {
            refusal(host, port).then(reject, reject);
            return;
          }
          this.#listening = socket;
          this.#ticker = setInterval(() => this.#tick(), tickInterval);
          resolve(us_socket_local_port(socket));
        });
    });
  }

  /**
   * Takes no new connections, answers what is in flight and what still comes over open connections,
   * and resolves when nothing has been in flight for a moment: true, or false when `timeout` (ms)
   * was over first and the rest was cut off.
   */
  async drain(timeout: number): Promise<boolean> {
    this.#draining = true;
    const started = performance.now();
    this.#lastRequest = started;
    if (this.#listening) this.#uws.us_listen_socket_close(this.#listening);
    this.#listening = undefined;
    for (;;) {
      const now = performance.now();
      if (this.inFlight.size === 0 && now - this.#lastRequest >= quietTime) break;
      if (now - started >= timeout) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const clean = this.inFlight.size === 0;
    for (const exchange of [...this.inFlight]) exchange.drop();
    clearInterval(this.#ticker);
    return clean;
  }

  get draining(): boolean {
    return this.#draining;
  }

  #tick(): void {
    const now = Date.now();
    for (const exchange of this.inFlight) exchange.tick(now);
  }

  /** A handler that throws before it has answered would end the process: better one connection. */
  #guard(res: UwsResponse, accept: () => void): void {
    try {
      accept();
    } catch (err) {
      this.options.services.log.error({ err }, "a request could not be taken");
      res.close();
    }
  }

  #accept(res: UwsResponse, req: UwsRequest): void {
    const method = req.getMethod();
    const path = req.getUrl();
    const exchange = new Exchange(this, res, new Headers(req), path, method === "head");
    if (path === "/healthz" || path === "/readyz") this.#probe(exchange, path);
    else if (!this.#page(exchange, method, path)) {
      this.#route(exchange, method, path, req.getQuery() ?? "");
    }
    exchange.linger();
  }

  #probe(exchange: Exchange, path: string): void {
    const stops = this.#draining && path === "/readyz";
    exchange.answer({
      kind: "encoded",
      status: stops ? 503 : 200,
      text: stops ? '{"status":"stopping"}' : '{"status":"ok"}',
    });
  }

  #page(exchange: Exchange, method: string, path: string): boolean {
    if (method !== "get" && method !== "head") return false;
    const page = this.options.page(path);
    if (page) exchange.answer(page);
    return page !== undefined;
  }

  #route(exchange: Exchange, method: string, path: string, query: string): void {
    const match = this.#router.find(path);
    const verb = method === "head" ? "GET" : method.toUpperCase();
    const route = match?.routes.get(verb);
    if (match && route) {
      new Handling(this.options, exchange, route, match.segments, query).start();
    } else {
      void this.#refuse(exchange, match, verb, path).catch((error) => exchange.fail(error));
    }
  }

  /** A path or method that leads nowhere; strangers are not told which. */
  async #refuse(
    exchange: Exchange,
    match: Match | undefined,
    verb: string,
    path: string,
  ): Promise<void> {
    known(await this.#authenticator.identify(exchange.headers.key));
    exchange.trust();
    if (!match) {
      const near = this.#router.near(path);
      const hint = near.length > 0 ? `; near it are ${near.join(", ")}` : "";
      throw new JoustError(
        ErrorCode.Unsupported,
        `nothing is served at ${verb} ${path}${hint}`,
        404,
      );
    }
    const allow = [...match.routes.keys()].join(", ");
    if (verb === "OPTIONS") {
      exchange.answer({ kind: "empty", status: 204, headers: { allow } });
      return;
    }
    exchange.fail(
      new JoustError(ErrorCode.Unsupported, `${path} takes ${allow}, not ${verb}`, 405),
      { allow },
    );
  }

  finished(exchange: Exchange, status: number): void {
    if (this.#draining) this.#lastRequest = performance.now();
    if (!this.#logsRequests) return;
    this.options.services.log.debug(
      {
        operation: exchange.operation,
        path: exchange.path,
        status,
        ms: Math.round((performance.now() - exchange.started) * 100) / 100,
        requestId: exchange.requestId,
      },
      "request",
    );
  }

  failed(exchange: Exchange, error: JoustError): void {
    const status = problemStatus(error);
    if (status < 500) return;
    const { operation, path, requestId } = exchange;
    this.options.services.log.warn(
      { operation, path, status, requestId, err: error.cause ?? error },
      "request failed",
    );
  }
}

/** Why the system refuses an address: uWebSockets.js only says that it does. */
async function refusal(host: string, port: number): Promise<Error> {
  const code = await new Promise<string | undefined>((resolve) => {
    const probe = createServer();
    probe.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
  const reasons: Record<string, string> = {
    EADDRINUSE: "the port is taken",
    EACCES: "the port needs more rights",
    EADDRNOTAVAIL: "the address is not this host's",
    ENOTFOUND: "no such host is known",
  };
  const reason = reasons[code ?? ""] ?? code ?? "the address is not free";
  return new Error(`cannot listen on ${host}:${port}: ${reason}`);
}
