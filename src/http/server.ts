import type { Operation, Reply, Translation } from "../api/operation.js";
import { type Authenticator, requireIdentity } from "../auth/authenticator.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { InFlight } from "../foundation/in-flight.js";
import { Callers } from "./callers.js";
import { type Draining, drain } from "./drain.js";
import { Exchange, type Host } from "./exchange.js";
import { rejectFraming } from "./framing-error.js";
import { Headers } from "./headers.js";
import { problemStatus } from "./problem.js";
import type { ReplyLimiter } from "./reply-limiter.js";
import { type RequestDependencies, RequestHandler } from "./request-handler.js";
import { routes } from "./route.js";
import { type Match, Router } from "./router.js";
import { transportOf } from "./transport/open.js";
import type { Transport, TransportRequest, TransportResponse } from "./transport/transport.js";

export interface ServerOptions extends RequestDependencies {
  /** Tables that are to be ready before anybody asks are not yet. */
  isWarming?(): boolean;
  readonly operations: readonly Operation[];
  readonly translations: readonly Translation[];
  readonly replyLimiter: ReplyLimiter;
  /** What anybody may fetch: what is served at a path, undefined for nothing. */
  page(path: string): Reply | undefined;
}

/** Interval at which long streams are looked after; must be under the socket's limit of 10 s. */
const tickInterval = 4_000;

/** After the last answer of a drain: time for connections that were quiet to send what is already on its way. */
const quietTime = 200;

/** The HTTP server: takes requests from its transport and sees each through to its answer. */
export class Server implements Host, Draining {
  readonly inFlight = new InFlight<Exchange>();
  #draining = false;
  #lastRequest = 0;
  /** Which transport it uses, and why. */
  readonly transport: { readonly name: string; readonly reason: string };
  readonly #transport: Transport;
  #ticker: NodeJS.Timeout | undefined;
  readonly #router: Router;
  readonly #authenticator: Authenticator;
  readonly #logsRequests: boolean;
  readonly #callers: Callers | undefined;

  constructor(private readonly options: ServerOptions) {
    this.#router = new Router(routes(options.operations, options.translations));
    this.#authenticator = options.authenticator;
    this.#callers = Callers.of(options.services.config);
    this.#logsRequests = options.services.log.isLevelEnabled("debug");
    const { http, tls } = options.services.config;
    const { name, reason, open } = transportOf(http);
    this.transport = { name, reason };
    this.#transport = open((res, req) => this.#guard(res, () => this.#accept(res, req)), tls);
  }

  /**
   * Resolves to the port, which the system chooses when it is given as 0. `shared`: with others that
   * listen so, among whom the system (Linux) shares connections out, whoever they are: who is to be
   * among them listens alone for a moment first, to know that the port is free.
   */
  async listen(host: string, port: number, shared = false): Promise<number> {
    const bound = await this.#transport.listen(host, port, shared);
    this.#ticker ??= setInterval(() => this.#tick(), tickInterval);
    return bound;
  }

  /** Takes no new connections. */
  stopListening(): void {
    this.#transport.stopListening();
  }

  /** See `Transport.reloadTls`. */
  reloadTls(): Promise<void> {
    return this.#transport.reloadTls();
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
    this.#transport.close();
    return clean;
  }

  get draining(): boolean {
    return this.#draining;
  }

  #tick(): void {
    const now = Date.now();
    const all = this.inFlight.all();
    for (const exchange of all) exchange.tick(now);
    for (const exchange of this.options.replyLimiter.excess(all)) this.#cutOff(exchange);
  }

  #cutOff(exchange: Exchange): void {
    const { operation, path, requestId, caller, held, slowMs } = exchange;
    this.options.services.log.warn(
      { operation, path, requestId, caller, held, slowMs },
      "an answer was cut off: slow readers hold more of the memory for requests than they may",
    );
    exchange.drop();
  }

  /** What is thrown here would end the process: better one connection. */
  #guard(res: TransportResponse, accept: () => void): void {
    try {
      accept();
    } catch (err) {
      this.options.services.log.error({ err }, "a request could not be taken");
      res.close();
    }
  }

  #accept(res: TransportResponse, req: TransportRequest): void {
    const method = req.getMethod();
    const path = req.getUrl();
    const headers = new Headers(req);
    if (headers.framingError !== undefined) {
      rejectFraming(res, headers.framingError, path);
      return;
    }
    const exchange = new Exchange(this, res, headers, path, method === "head");
    try {
      this.#begin(exchange, method, path, req.getQuery() ?? "");
    } catch (error) {
      exchange.unforeseen(error);
    }
    exchange.linger();
  }

  #begin(exchange: Exchange, method: string, path: string, query: string): void {
    if (path === "/healthz" || path === "/readyz") {
      this.#probe(exchange, path);
      return;
    }
    const refusal = this.#callers?.refusal(exchange.headers);
    if (refusal) exchange.fail(refusal);
    else if (!this.#page(exchange, method, path)) this.#route(exchange, method, path, query);
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
      new RequestHandler(this.options, exchange, route, match.segments, query).start();
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
    requireIdentity(await this.#authenticator.identify(exchange.headers.key));
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
