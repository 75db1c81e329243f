import type { Operation, Reply, Translation } from "../api/operation.js";
import { type Authenticator, requireIdentity } from "../auth/authenticator.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { InFlightSet } from "../foundation/in-flight-set.js";
import type { LimitRules } from "../limits/limit-rules.js";
import { Cors } from "./cors.js";
import { type Drainable, drain } from "./drain.js";
import { rejectFraming } from "./framing-error.js";
import { Headers } from "./headers.js";
import { HttpRequest, type ServerContext } from "./http-request.js";
import { OriginCheck } from "./origin-check.js";
import { problemStatus } from "./problem.js";
import type { ReplyLimiter } from "./reply-limiter.js";
import type { RequestDependencies } from "./request-dependencies.js";
import { RequestHandler } from "./request-handler.js";
import { admitUnauthenticated, refusalOf } from "./request-limits.js";
import { PROBE } from "./request-operations.js";
import { RequestObserver } from "./request-record.js";
import { type Route, routes } from "./route.js";
import { type RouteMatch, Router } from "./router.js";
import { securityHeaders } from "./security-headers.js";
import { transportOf } from "./transport/open.js";
import type { Transport, TransportRequest, TransportResponse } from "./transport/transport.js";

export interface ServerOptions extends RequestDependencies {
  /** Whether the server still prewarms tables; `/readyz` reports it. */
  isWarming?(): boolean;
  readonly operations: readonly Operation[];
  readonly translations: readonly Translation[];
  readonly replyLimiter: ReplyLimiter;
  /** The public page at a path, served without authentication; undefined if there is none. */
  page(path: string): Reply | undefined;
}

/** How often the server calls `HttpRequest.tick`, ms. Must be below the socket's timeout of 10 s. */
const tickInterval = 4_000;

/** How long a drain waits after the last reply, ms: idle connections may have a request on its way. */
const idleTime = 200;

/** The HTTP server: accepts requests from its transport and routes them to their handlers. */
export class Server implements ServerContext, Drainable {
  readonly inFlight = new InFlightSet<HttpRequest>();
  #draining = false;
  #lastRequest = 0;
  /** Name of the transport, and why the server uses it. */
  readonly transport: { readonly name: string; readonly reason: string };
  readonly #transport: Transport;
  #ticker: NodeJS.Timeout | undefined;
  readonly #router: Router;
  readonly #authenticator: Authenticator;
  readonly #logsRequests: boolean;
  /** Undefined without audit log and traces. */
  readonly #observer: RequestObserver | undefined;
  /** Whether a request that ends leaves anything: a line of the log or of the audit log, or a span. */
  readonly #reportsRequests: boolean;
  readonly #originCheck: OriginCheck | undefined;
  readonly #securityHeaders: readonly string[];
  readonly #cors: Cors | undefined;

  constructor(private readonly options: ServerOptions) {
    this.#router = new Router(routes(options.operations, options.translations));
    this.#authenticator = options.authenticator;
    this.#originCheck = OriginCheck.of(options.services.config);
    this.#logsRequests = options.services.log.isLevelEnabled("debug");
    this.#observer = RequestObserver.of(options.services);
    this.#reportsRequests = this.#logsRequests || this.#observer !== undefined;
    const { http, tls, corsOrigins } = options.services.config;
    this.#securityHeaders = securityHeaders(tls !== undefined);
    this.#cors = corsOrigins && new Cors(corsOrigins, this.#securityHeaders);
    const { name, reason, open } = transportOf(http);
    this.transport = { name, reason };
    this.#transport = open((res, req) => this.#guard(res, () => this.#accept(res, req)), tls);
  }

  /**
   * Resolves to the port. For port 0 the system chooses one. `shared`: several listeners use the port,
   * and the system (Linux) distributes connections among all of them, also those of other processes.
   * Listen unshared first to make sure that the port is free.
   */
  async listen(host: string, port: number, shared = false): Promise<number> {
    const bound = await this.#transport.listen(host, port, shared);
    this.#ticker ??= setInterval(() => this.#tick(), tickInterval);
    return bound;
  }

  /** Refuses new connections. */
  stopListening(): void {
    this.#transport.stopListening();
  }

  /** See `Transport.reloadTls`. */
  reloadTls(): Promise<void> {
    return this.#transport.reloadTls();
  }

  /** Applies other limits from the next request on. Does nothing on a server without limits. */
  setLimits(rules: LimitRules): void {
    this.options.limiter?.setRules(rules);
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

  isIdle(): boolean {
    return this.inFlight.size === 0 && performance.now() - this.#lastRequest >= idleTime;
  }

  closeConnections(): boolean {
    const clean = this.inFlight.size === 0;
    for (const request of this.inFlight.all()) request.closeConnection();
    clearInterval(this.#ticker);
    // A thread with an open socket cannot exit.
    this.#transport.close();
    return clean;
  }

  get draining(): boolean {
    return this.#draining;
  }

  #tick(): void {
    const now = Date.now();
    const all = this.inFlight.all();
    for (const request of all) request.tick(now);
    for (const request of this.options.replyLimiter.excess(all)) this.#closeSlowReader(request);
  }

  #closeSlowReader(request: HttpRequest): void {
    const { operation, path, requestId, callerId: caller, heldBytes: held, slowMs } = request;
    this.options.services.log.warn(
      { operation, path, requestId, caller, held, slowMs },
      "closed the connection of a slow reader: the replies to slow readers hold more memory than their limit",
    );
    request.closeConnection();
  }

  /** An error that escaped the transport's callback would end the process. Closes one connection instead. */
  #guard(res: TransportResponse, accept: () => void): void {
    try {
      accept();
    } catch (err) {
      this.options.services.log.error({ err }, "the server could not accept a request");
      res.close();
    }
  }

  #accept(res: TransportResponse, req: TransportRequest): void {
    const method = req.getMethod();
    const path = req.getUrl();
    const headers = new Headers(req);
    if (headers.framingError !== undefined) {
      this.options.services.requests.count("", 400, 0);
      rejectFraming(res, headers.framingError, path, this.replyHeaders(headers));
      return;
    }
    const request = new HttpRequest(this, res, headers, path, method === "head");
    try {
      this.#begin(request, method, path, req.getQuery() ?? "");
    } catch (error) {
      request.failUnexpectedly(error);
    }
    request.continueAsync();
  }

  #begin(request: HttpRequest, method: string, path: string, query: string): void {
    if (method === "options" && this.#answerPreflight(request)) return;
    if (path === "/healthz" || path === "/readyz") {
      this.#probe(request, path);
      return;
    }
    const rejection = this.#originCheck?.rejection(request.headers);
    if (rejection) request.fail(rejection);
    else if (!this.#servePage(request, method, path)) this.#route(request, method, path, query);
  }

  /** Answers a preflight request without authentication: a browser sends it without the headers of the page. */
  #answerPreflight(request: HttpRequest): boolean {
    const reply = this.#cors?.preflight(request.headers);
    if (!reply || this.#originCheck?.rejection(request.headers)) return false;
    request.respond(reply);
    return true;
  }

  replyHeaders(headers: Headers): readonly string[] {
    return this.#cors ? this.#cors.replyHeaders(headers) : this.#securityHeaders;
  }

  #probe(request: HttpRequest, path: string): void {
    request.operation = PROBE;
    const status = path === "/readyz" ? this.#readiness() : "ok";
    request.respond({
      kind: "encoded",
      status: status === "ok" ? 200 : 503,
      text: JSON.stringify({ status }),
    });
  }

  #readiness(): "ok" | "warming" | "stopping" {
    if (this.#draining) return "stopping";
    return this.options.isWarming?.() ? "warming" : "ok";
  }

  #servePage(request: HttpRequest, method: string, path: string): boolean {
    if (method !== "get" && method !== "head") return false;
    const page = this.options.page(path);
    if (page === undefined) return false;
    if (this.options.limiter) admitUnauthenticated(this.options.limiter, request);
    request.respond(page);
    return true;
  }

  #route(request: HttpRequest, method: string, path: string, query: string): void {
    const match = this.#router.match(path);
    const verb = method === "head" ? "GET" : method.toUpperCase();
    const route = match?.routes.get(verb);
    if (this.#observer) {
      const record = this.#observer.begin(request, method, route, match?.segments.id, query);
      request.record = record;
      record.run(() => this.#handle(request, match, route, verb, query));
    } else this.#handle(request, match, route, verb, query);
  }

  #handle(
    request: HttpRequest,
    match: RouteMatch | undefined,
    route: Route | undefined,
    verb: string,
    query: string,
  ): void {
    if (match && route) {
      new RequestHandler(this.options, request, route, match.segments, query).start();
    } else {
      void this.#refuse(request, match, verb, request.path).catch((error) => request.fail(error));
    }
  }

  /** Replies 404 or 405. An unauthenticated client gets 401, so that it cannot list the routes. */
  async #refuse(
    request: HttpRequest,
    match: RouteMatch | undefined,
    verb: string,
    path: string,
  ): Promise<void> {
    const { limiter } = this.options;
    try {
      const caller = requireIdentity(await this.#authenticator.identify(request.headers.key));
      request.identity = caller;
      limiter?.admit({ caller, namespace: undefined, work: [] });
    } catch (error) {
      throw limiter ? refusalOf(limiter, request, error) : error;
    }
    request.markAuthenticated();
    if (!match) {
      const similar = this.#router.similar(path);
      const hint = similar.length > 0 ? `; similar routes are ${similar.join(", ")}` : "";
      throw new JoustError(
        ErrorCode.Unsupported,
        `nothing is served at ${verb} ${path}${hint}`,
        404,
      );
    }
    const allow = [...match.routes.keys()].join(", ");
    if (verb === "OPTIONS") {
      request.respond({ kind: "empty", status: 204, headers: { allow } });
      return;
    }
    request.fail(
      new JoustError(ErrorCode.Unsupported, `${path} supports ${allow}, not ${verb}`, 405),
      { allow },
    );
  }

  requestFinished(request: HttpRequest, status: number): void {
    if (this.#draining) this.#lastRequest = performance.now();
    const ms = performance.now() - request.started;
    this.options.services.requests.count(request.operation, status, ms);
    if (!this.#reportsRequests) return;
    request.record?.finish(status);
    if (!this.#logsRequests) return;
    this.options.services.log.debug(
      {
        operation: request.operation,
        path: request.path,
        status,
        ms: Math.round(ms * 100) / 100,
        requestId: request.requestId,
        ...request.record?.traceIds,
      },
      "request",
    );
  }

  requestFailed(request: HttpRequest, error: JoustError): void {
    request.record?.failed(error);
    const status = problemStatus(error);
    if (status < 500) return;
    const { operation, path, requestId, record } = request;
    this.options.services.log.warn(
      { operation, path, status, requestId, ...record?.traceIds, err: error.cause ?? error },
      "request failed",
    );
  }
}
