import { createServer } from "node:net";
import { type Authenticator, known } from "../auth/authenticator.js";
import { ErrorCode, JoustError } from "../errors.js";
import { InFlight } from "../in-flight.js";
import type { Operation, Reply, Translation } from "../operations/operation.js";
import type { AnswerRoom } from "./answer-room.js";
import { type Draining, drain } from "./drain.js";
import { Exchange, type Host } from "./exchange.js";
import { Handling, type Rooms } from "./handling.js";
import { Headers } from "./headers.js";
import { problemStatus } from "./problem.js";
import { routes } from "./route.js";
import { type Match, Router } from "./router.js";
import { loadUws } from "./uws.js";
import type { Uws, UwsApp, UwsListenSocket, UwsRequest, UwsResponse } from "./uws-types.js";

export interface ServerOptions extends Rooms {
  /** Tables that are to be ready before anybody asks are not yet. */
  isWarming?(): boolean;
  readonly operations: readonly Operation[];
  readonly translations: readonly Translation[];
  readonly answerRoom: AnswerRoom;
  /** What anybody may fetch: what is served at a path, undefined for nothing. */
  page(path: string): Reply | undefined;
}

/** Interval at which long streams are looked after; must be under the socket's limit of 10 s. */
const tickInterval = 4_000;

/** After the last answer of a drain: time for connections that were quiet to send what is already on its way. */
const quietTime = 200;

/** The HTTP server: takes requests off uWebSockets.js and sees each through to its answer. */
export class Server implements Host, Draining {
  readonly inFlight = new InFlight<Exchange>();
  #draining = false;
  #lastRequest = 0;
  readonly #app: UwsApp;
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
    this.#app = this.#uws
      .App()
      .any("/*", (res, req) => this.#guard(res, () => this.#accept(res, req)));
  }

  /**
   * Resolves to the port, which the system chooses when it is given as 0. `shared`: with others that
   * listen so, among whom the system (Linux) shares connections out, whoever they are: who is to be
   * among them listens alone for a moment first, to know that the port is free.
   */
  listen(host: string, port: number, shared = false): Promise<number> {
    const { LIBUS_LISTEN_EXCLUSIVE_PORT, us_socket_local_port } = this.#uws;
    return new Promise((resolve, reject) => {
      this.#app.listen(host, port, shared ? 0 : LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
        if (!socket) {
          refusal(host, port).then(reject, reject);
          return;
        }
        this.#listening = socket;
        this.#ticker ??= setInterval(() => this.#tick(), tickInterval);
        resolve(us_socket_local_port(socket));
      });
    });
  }

  /** Takes no new connections. */
  stopListening(): void {
    if (this.#listening) this.#uws.us_listen_socket_close(this.#listening);
    this.#listening = undefined;
  }

  /** See `drain`. */
  drain(timeout: number): Promise<boolean> {
    return drain([this], timeout);
  }

  beginDrain(): void {
    this.#draining = true;
    this.#lastRequest = performance.now();
    this.stopListening();
  }

  isQuiet(): boolean {
    return this.inFlight.size === 0 && performance.now() - this.#lastRequest >= quietTime;
  }

  cut(): boolean {
    const clean = this.inFlight.size === 0;
    for (const exchange of this.inFlight.all()) exchange.drop();
    clearInterval(this.#ticker);
    // A thread with an open socket can't end.
    this.#app.close();
    return clean;
  }

  get draining(): boolean {
    return this.#draining;
  }

  #tick(): void {
    const now = Date.now();
    const all = this.inFlight.all();
    for (const exchange of all) exchange.tick(now);
    for (const exchange of this.options.answerRoom.excess(all)) this.#cutOff(exchange);
  }

  #cutOff(exchange: Exchange): void {
    const { operation, path, requestId, caller, held, slowMs } = exchange;
    this.options.services.log.warn(
      { operation, path, requestId, caller, held, slowMs },
      "an answer was cut off: slow readers hold more of the memory for requests than they may",
    );
    exchange.drop();
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
    const status = path === "/readyz" ? this.#readiness() : "ok";
    exchange.answer({
      kind: "encoded",
      status: status === "ok" ? 200 : 503,
      text: JSON.stringify({ status }),
    });
  }

  #readiness(): "ok" | "warming" | "stopping" {
    if (this.#draining) return "stopping";
    return this.options.isWarming?.() ? "warming" : "ok";
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
