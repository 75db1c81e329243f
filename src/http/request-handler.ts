import { checkInDatabase, databaseServices, replyInDatabase } from "../api/database.js";
import type { Attempt } from "../api/idempotency/idempotency.js";
import { type IdempotencyKey, idempotencyKey } from "../api/idempotency/key.js";
import { type IdempotentBody, runIdempotent } from "../api/idempotency/run.js";
import { replyForMissing } from "../api/missing-object-reply.js";
import { type Call, jobOf, type Operation, type Reply } from "../api/operation.js";
import type { Services } from "../api/services.js";
import { type Identity, requireIdentity, unauthenticated } from "../auth/authenticator.js";
import { databaseScope } from "../auth/database-scope.js";
import { authorize, checkPermission } from "../auth/permission.js";
import type { ArrowBody, Upload } from "../engine/index.js";
import { asJoustError, JoustError } from "../foundation/errors.js";
import type { RequestAdmission } from "../limits/request-admission.js";
import { RequestParts } from "./authorize-part.js";
import { BodyBuffer, type BodyConsumer, SHORT_UPLOAD, UploadConsumer } from "./body-consumers.js";
import { type BodyKind, bodyHeaderError, bodyKind } from "./body-kind.js";
import type { HttpRequest } from "./http-request.js";
import { bufferedBody, DigestedUpload } from "./idempotent-body.js";
import { idempotentRequest } from "./idempotent-request.js";
import { apiKeyIn, keyInBodyLimit, mayHaveKeyInBody } from "./key-in-body.js";
import { problemStatus } from "./problem.js";
import { readCall } from "./read-call.js";
import { replyStatus } from "./reply.js";
import type { RequestCall } from "./request-call.js";
import { BODY_GRACE_MILLIS, RequestDeadline } from "./request-deadline.js";
import type { RequestDependencies } from "./request-dependencies.js";
import { admitRequest, checkUnauthenticated, meteredBody, refusalOf } from "./request-limits.js";
import { finalReply, type Route } from "./route.js";
import type { RouteMatch } from "./router.js";

const emptyBody = new Uint8Array(0);
const ROOT: readonly string[] = [];

/**
 * Handles one request to a known route, in this order:
 *
 * 1. Authenticate the caller by the key in the headers, else by the key in a JSON body (401), find out its database,
 *    and count the request for its limits (429).
 * 2. Check that the role of the caller covers the operation, or that it has grants (403), and start its deadline (504).
 * 3. Check the content type and the announced size of the body (415, 413).
 * 4. Read the idempotency key.
 * 5. Read the body: buffer JSON and short Arrow bodies without an idempotency key, stream other Arrow bodies.
 * 6. Parse the query string, the id in the path, and the body, and validate them (400).
 * 7. Check what the content of the request and the grants of the caller require (403, 404).
 * 8. Run the handler of the operation. With an idempotency key, it takes effect once.
 * 9. Translate the reply or the error to the dialect of the route, release the body, and send it.
 *
 * An unauthenticated caller always gets 401, and its body never uses memory of `bodyLimiter`. If the
 * caller is in the key cache and the handler is synchronous, all steps run without a promise.
 */
export class RequestHandler {
  readonly #kind: BodyKind;
  #identity: Identity | undefined;
  #body: Uint8Array | undefined;
  #bodyBuffer: BodyBuffer | undefined;
  #upload: Upload | undefined;
  /** The error that made this handler abort the upload. */
  #uploadError: unknown;
  #call: RequestCall | undefined;
  #database: readonly string[] = ROOT;
  #idempotencyKey: IdempotencyKey | undefined;
  #idempotentBody: IdempotentBody | undefined;
  #admission: RequestAdmission | undefined;
  #parts: RequestParts | undefined;
  #deadline: RequestDeadline | undefined;
  /** Receives the bytes of an upload. */
  #uploadConsumer: BodyConsumer | undefined;
  #handles = false;
  /** The client had its reply at the deadline while the handler went on. */
  #isOverdue = false;

  constructor(
    private readonly dependencies: RequestDependencies,
    private readonly request: HttpRequest,
    private readonly route: Route,
    private readonly segments: RouteMatch["segments"],
    private readonly query: string,
  ) {
    request.operation = route.operation.id;
    this.#kind = bodyKind(route, request.headers);
  }

  start(): void {
    try {
      const { authenticator, unauthenticatedBodyLimiter, services } = this.dependencies;
      const identity = authenticator.identify(this.request.headers.key);
      if (identity instanceof Promise)
        this.request.deferBody(unauthenticatedBodyLimiter, this.#fail);
      if (!identity && mayHaveKeyInBody(this.request.headers, this.#kind, services.config)) {
        this.#readKeyFromBody();
      } else this.#identified(identity);
    } catch (error) {
      this.#fail(error);
    }
  }

  #identified(identity: Identity | undefined | Promise<Identity | undefined>): void {
    if (identity instanceof Promise) {
      identity.then((resolved) => this.#authenticated(resolved)).catch(this.#fail);
    } else this.#authenticated(identity);
  }

  /** A body without a valid key gets 401, also if the body has other errors. */
  #readKeyFromBody(): void {
    const { unauthenticatedBodyLimiter, services, limiter } = this.dependencies;
    if (limiter) checkUnauthenticated(limiter, this.request);
    const limit = Math.min(keyInBodyLimit, services.config.maxJsonBytes);
    const fail = () => this.#fail(unauthenticated());
    this.#bufferBody(new BodyBuffer(limit, unauthenticatedBodyLimiter, this.#onBodyWithKey, fail));
  }

  readonly #onBodyWithKey = (body: Uint8Array): void => {
    this.#body = body;
    // Not the `fail` of the buffer, which replies 401: the caller gets the actual error.
    try {
      this.#identified(this.dependencies.authenticator.identify(apiKeyIn(body)));
    } catch (error) {
      this.#fail(error);
    }
  };

  /** @throws JoustError 400, 401, 403, 413, 415, 429 */
  #authenticated(resolved: Identity | undefined): void {
    const { request, dependencies } = this;
    const identity = requireIdentity(resolved);
    this.#identity = request.identity = identity;
    if (request.isOver) return;
    const { database: name } = request.headers;
    // Other paths name no objects, or name the database too.
    const isRoot = name === "" || !this.route.path.startsWith("/v1/");
    const database = isRoot ? ROOT : databaseScope(dependencies.services, identity, name);
    if (!(database instanceof Promise)) {
      this.#admit(identity, database);
      return;
    }
    if (!this.#body) request.deferBody(dependencies.bodyLimiter, this.#fail);
    database.then((known) => this.#admit(identity, known)).catch(this.#fail);
  }

  /** `database`: the namespace that all names in the request are relative to. */
  #admit(identity: Identity, database: readonly string[]): void {
    const { request, dependencies, route, segments, query } = this;
    if (request.isOver) return;
    const { limiter } = dependencies;
    this.#database = database;
    request.record?.inDatabase(database);
    if (limiter?.limitsCallers) {
      const object = { id: segments.id, query, database };
      this.#admission = admitRequest(limiter, request, route, identity, object);
    }
    checkPermission(route.operation, identity, dependencies.services.grants);
    request.markAuthenticated();
    this.#startDeadline();
    const headerError = bodyHeaderError(this.#kind, request.headers, dependencies.services.config);
    if (headerError) throw headerError;
    this.#idempotencyKey = idempotencyKey(route.operation, route.dialect, request.headers);
    if (this.#kind === "arrow") this.#admission?.checkUpload();
    const check = this.#admission?.checkStorage();
    if (check === undefined) {
      this.#admitted();
      return;
    }
    if (!this.#body) request.deferBody(dependencies.bodyLimiter, this.#fail);
    check.then(() => this.#admitted()).catch(this.#fail);
  }

  #admitted(): void {
    if (this.request.isOver) return;
    if (this.#body) {
      this.#bodyBuffer?.moveTo(this.dependencies.bodyLimiter);
      this.#run();
    } else this.#readBody();
  }

  #startDeadline(): void {
    const { headers, started } = this.request;
    const { requestTimeoutMs } = this.dependencies.services.config;
    this.#deadline = RequestDeadline.start(headers, requestTimeoutMs, started, this.#expire);
    if (this.#deadline) this.request.onRelease(() => this.#deadline?.clear());
  }

  /** Ends the request at its deadline. */
  readonly #expire = (): void => {
    const { request } = this;
    const deadline = this.#deadline as RequestDeadline;
    request.limitBody(BODY_GRACE_MILLIS);
    if (!this.#call) {
      this.#fail(deadline.exceeded("nothing"));
    } else if (this.#uploadConsumer && !request.bodyEnded) {
      // The engine commits nothing before the end of an upload.
      this.#uploadConsumer.fail(deadline.exceeded("nothing"));
    } else if (this.#isRead) {
      request.cancelWork();
      this.#sendFailure(deadline.exceeded("read"));
    } else if (!this.#resendsAtOnce) {
      this.#sendFailure(deadline.exceeded("unknown"));
      this.#isOverdue = true;
    }
  };

  get #isRead(): boolean {
    return this.route.operation.permission === "read" && !this.#parts?.hasChanges;
  }

  /** The request has ended before its work, which may have changed something. */
  get #hasOutlived(): boolean {
    if (this.#isOverdue || !this.request.aborted) return this.#isOverdue;
    return this.#handles && (!this.#upload || this.request.bodyEnded) && !this.#isRead;
  }

  /**
   * LanceDB SDKs send an upload again after 504, under another id: rows that are committed after the reply would be
   * stored twice. Such a request waits for its outcome instead.
   */
  get #resendsAtOnce(): boolean {
    return this.route.dialect === "lancedb" && this.#kind === "arrow" && !this.#idempotencyKey;
  }

  #readBody(): void {
    const { request, dependencies } = this;
    if (this.#kind === "arrow") {
      this.#readArrowBody(request.headers.contentLength);
    } else if (this.#kind === "json" && request.headers.announcesBody) {
      const { bodyLimiter, services } = dependencies;
      const most = services.config.maxJsonBytes;
      this.#bufferBody(new BodyBuffer(most, bodyLimiter, this.#onBody, this.#fail));
    } else {
      this.#onBody(emptyBody);
    }
  }

  #readArrowBody(length: number | undefined): void {
    const { request, dependencies } = this;
    const { bodyLimiter } = dependencies;
    const isShort = !this.#idempotencyKey && length !== undefined && length <= SHORT_UPLOAD;
    // Without free memory the body streams instead, and waits for memory in the engine.
    if (isShort && bodyLimiter.tryReserve(length)) {
      const buffer = new BodyBuffer(length, bodyLimiter, this.#onBody, this.#fail, length);
      this.#bodyBuffer = buffer;
      this.#admission?.chargeUpload(length);
      this.#bufferBody(buffer, true);
      return;
    }
    const upload = dependencies.openUpload();
    this.#upload = upload;
    request.onAbort(() => upload.abort());
    let consumer: BodyConsumer = new UploadConsumer(
      request,
      upload,
      dependencies.services.config.maxUploadBytes,
      this.#failUpload,
    );
    if (this.#idempotencyKey) {
      consumer = this.#idempotentBody = new DigestedUpload(consumer, upload, request);
    }
    if (this.#admission) consumer = meteredBody(consumer, this.#admission);
    this.#uploadConsumer = consumer;
    request.consumeBody(consumer, true);
    this.#run();
  }

  #bufferBody(buffer: BodyBuffer, untimed = false): void {
    this.#bodyBuffer = buffer;
    // A running handler still uses the buffer; its reply or its error releases it.
    this.request.onAbort(() => {
      if (!this.#call) buffer.discard();
    });
    this.request.consumeBody(buffer, untimed);
  }

  readonly #onBody = (body: Uint8Array): void => {
    this.#body = body;
    this.#run();
  };

  /** Parses and validates the request, then runs its handler. The body is complete or streams. */
  #run(): void {
    const { route, request, segments, query } = this;
    const { record } = request;
    const call = readCall(request, route, {
      segments,
      query,
      database: this.#database,
      json: route.body && this.#kind === "json" ? (this.#body ?? emptyBody) : undefined,
      raw: this.#rawBody,
      timeLeftMs: this.#deadline?.leftMs,
      authorize: this.#authorizePart,
    });
    this.#call = call;
    const reply = record
      ? record.observe(route.operation, call, () => this.#authorize(call))
      : this.#authorize(call);
    if (reply instanceof Promise) {
      reply.then(this.#reply).catch((error) => this.#fail(this.#uploadError ?? error));
    } else {
      this.#reply(reply);
    }
  }

  readonly #authorizePart = (part: Operation, call: Call<unknown, unknown>) => {
    const { dependencies, request, route } = this;
    this.#parts ??= new RequestParts(dependencies, request, route.operation, this.#body);
    return this.#parts.authorize(part, call);
  };

  /** The body for an operation that reads it undecoded. */
  get #rawBody(): ArrowBody | undefined {
    const isRaw = this.#kind === "arrow" || this.route.operation.body.kind === "raw-json";
    return this.#upload ?? (isRaw ? this.#body : undefined);
  }

  /** Runs the handler if the caller may send the request, with the services that the caller may use. */
  #authorize(call: RequestCall): Promise<Reply> | Reply {
    const { operation } = this.route;
    const existing = databaseServices(this.dependencies.services, call.database);
    const decide = () => authorize(operation, this.#identity as Identity, call, existing);
    const services = checkInDatabase(operation, call, existing)?.then(decide) ?? decide();
    return services instanceof Promise
      ? services.then((visible) => this.#runHandler(call, visible), replyForMissing)
      : this.#runHandler(call, services);
  }

  #runHandler(call: RequestCall, services: Services): Promise<Reply> | Reply {
    return this.#idempotencyKey
      ? this.#runOnce(call, services, this.#idempotencyKey)
      : this.#handle(call, services);
  }

  #handle(call: RequestCall, services: Services): Promise<Reply> | Reply {
    const { operation } = this.route;
    this.#handles = true;
    const handle = () => replyInDatabase(operation, call, operation.handle(services, call));
    return this.#admission ? this.#admission.run(call, handle, jobOf) : handle();
  }

  /** Runs the handler unless an earlier request with the same idempotency key has run it. */
  #runOnce(call: RequestCall, services: Services, key: IdempotencyKey): Promise<Reply> {
    const { route, request, query } = this;
    const callerId = this.#identity?.id ?? "";
    const body = this.#idempotentBody ?? bufferedBody(this.#body ?? emptyBody);
    const idempotent = idempotentRequest(route, request, query, key, callerId, body, call.database);
    return runIdempotent(this.dependencies.services, idempotent, (attempt?: Attempt) => {
      call.attempt = attempt;
      return this.#handle(call, services);
    });
  }

  /** A running handler undoes its work before the client gets the error. */
  readonly #failUpload = (error: unknown): void => {
    this.#uploadError = error;
    this.#upload?.abort();
    if (!this.#call) this.#fail(error);
  };

  readonly #reply = (reply: Reply): void => {
    this.#deadline?.clear();
    const final = finalReply(this.route, reply, this.#call);
    this.#releaseBody();
    if (this.#hasOutlived) this.request.record?.endsLate(replyStatus(final));
    this.request.respond(final);
  };

  readonly #fail = (error: unknown): void => {
    this.#releaseBody();
    const { limiter } = this.dependencies;
    const work = this.#isRead ? "read" : "unknown";
    let failure = (this.#call && this.#deadline?.endedBy(error, work)) ?? error;
    if (limiter && !this.#identity) failure = refusalOf(limiter, this.request, error);
    this.#sendFailure(failure);
  };

  #sendFailure(error: unknown): void {
    this.#deadline?.clear();
    try {
      const joustError = asJoustError(error);
      if (this.#hasOutlived) {
        this.request.record?.endsLate(problemStatus(joustError), joustError);
      }
      const translated = this.route.translation?.failure?.(joustError) ?? joustError;
      if (translated instanceof JoustError) this.request.fail(translated);
      else {
        this.request.record?.failed(joustError);
        this.request.respond(translated);
      }
    } catch (unexpected) {
      this.request.failUnexpectedly(unexpected);
    }
  }

  /**
   * Releases the memory of the body. If the upload has not ended, it is aborted. An upload that no
   * handler has read would otherwise keep its memory.
   */
  #releaseBody(): void {
    this.#bodyBuffer?.discard();
    if (this.request.bodyEnded) this.#upload?.discard();
    else this.#upload?.abort();
  }
}
