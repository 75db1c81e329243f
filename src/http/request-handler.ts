import { requestFingerprint } from "../api/idempotency/fingerprint.js";
import type { Attempt } from "../api/idempotency/idempotency.js";
import { type IdempotencyKey, idempotencyKey, scopeToCaller } from "../api/idempotency/key.js";
import { type IdempotentBody, runIdempotent } from "../api/idempotency/run.js";
import type { RawParams, Reply } from "../api/operation.js";
import type { Services } from "../api/services.js";
import { contextOf, keyOf } from "../api/validation/common-members.js";
import {
  checkBodyId,
  decode,
  defaultDelimiter,
  parseIdentifier,
} from "../api/validation/identifier.js";
import { parseJson } from "../api/validation/json.js";
import { parseQuery } from "../api/validation/params.js";
import {
  type Authenticator,
  type Identity,
  requireIdentity,
  unauthenticated,
} from "../auth/authenticator.js";
import { checkAdministrative, checkPermission } from "../auth/permission.js";
import type { ArrowBody, Upload } from "../engine/index.js";
import { asJoustError, invalidInput, JoustError } from "../foundation/errors.js";
import { mergeObjects } from "../foundation/merge-objects.js";
import { BodyBuffer, type BodyConsumer, UploadConsumer } from "./body-consumers.js";
import { type BodyKind, bodyHeaderError, bodyKind } from "./body-kind.js";
import type { BodyLimiter } from "./body-limiter.js";
import type { HttpRequest } from "./http-request.js";
import { bufferedBody, DigestedUpload } from "./idempotent-body.js";
import { RequestCall } from "./request-call.js";
import type { Route } from "./route.js";
import type { RouteMatch } from "./router.js";

/** The largest body that the server reads to look for an API key in it, bytes. */
const keyInBodyLimit = 1024 * 1024;

/**
 * The largest Arrow body that the server buffers before it calls the handler, bytes. Such a body arrives
 * with its headers or right after them. A stream of it would take longer to set up than to read.
 */
const shortUpload = 64 * 1024;

const emptyBody = new Uint8Array(0);
const noPathParams: Readonly<Record<string, string>> = Object.freeze({});

export interface RequestDependencies {
  readonly services: Services;
  readonly authenticator: Authenticator;
  /** Opens the engine's end of an upload. */
  openUpload(): Upload;
  readonly bodyLimiter: BodyLimiter;
  /** For bodies that the server reads before it has authenticated their callers. */
  readonly unauthenticatedBodyLimiter: BodyLimiter;
}

/**
 * Handles one request to a known route, in this order:
 *
 * 1. Authenticate the caller by the key in the headers, else by the key in a JSON body (401).
 * 2. Check that the role of the caller covers the operation (403).
 * 3. Check the content type and the announced size of the body (415, 413).
 * 4. Read the idempotency key.
 * 5. Read the body: buffer JSON and short Arrow bodies, stream longer Arrow bodies to the engine.
 * 6. Parse the query string, the id in the path, and the body, and validate them (400).
 * 7. Check that the caller is an admin if the content of the request requires it (403).
 * 8. Run the handler of the operation. With an idempotency key, run it once per key.
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
  #idempotencyKey: IdempotencyKey | undefined;
  #idempotentBody: IdempotentBody | undefined;

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
      const { authenticator, unauthenticatedBodyLimiter } = this.dependencies;
      const identity = authenticator.identify(this.request.headers.key);
      if (identity instanceof Promise) {
        this.request.deferBody(unauthenticatedBodyLimiter, this.#fail);
        identity.then((resolved) => this.#authenticated(resolved)).catch(this.#fail);
      } else if (identity === undefined && this.#mayReadKeyFromBody()) this.#readKeyFromBody();
      else this.#authenticated(identity);
    } catch (error) {
      this.#fail(error);
    }
  }

  #mayReadKeyFromBody(): boolean {
    const { headers } = this.request;
    if (headers.hasCredentials || !headers.announcesBody || this.#kind !== "json") return false;
    return bodyHeaderError(this.#kind, headers, this.dependencies.services.config) === undefined;
  }

  /** A body without a valid key gets 401, also if the body has other errors. */
  #readKeyFromBody(): void {
    const { unauthenticatedBodyLimiter, services } = this.dependencies;
    const limit = Math.min(keyInBodyLimit, services.config.maxJsonBytes);
    const fail = () => this.#fail(unauthenticated());
    this.#bufferBody(new BodyBuffer(limit, unauthenticatedBodyLimiter, this.#onBodyWithKey, fail));
  }

  readonly #onBodyWithKey = (body: Uint8Array): void => {
    this.#body = body;
    // Not the `fail` of the buffer, which replies 401: the caller gets the actual error.
    try {
      const identity = this.dependencies.authenticator.identify(apiKeyIn(body));
      if (identity instanceof Promise) {
        identity.then((resolved) => this.#authenticated(resolved)).catch(this.#fail);
      } else this.#authenticated(identity);
    } catch (error) {
      this.#fail(error);
    }
  };

  /** @throws JoustError 401, 403, 413, 415 */
  #authenticated(resolved: Identity | undefined): void {
    const { request, dependencies, route } = this;
    const identity = requireIdentity(resolved);
    this.#identity = identity;
    checkPermission(route.operation, identity);
    request.markAuthenticated();
    request.callerId = identity.id;
    const headerError = bodyHeaderError(this.#kind, request.headers, dependencies.services.config);
    if (headerError) throw headerError;
    this.#idempotencyKey = idempotencyKey(route.operation, route.dialect, request.headers);
    if (this.#body) {
      this.#bodyBuffer?.moveTo(dependencies.bodyLimiter);
      this.#run();
    } else this.#readBody();
  }

  #readBody(): void {
    const { request, dependencies } = this;
    if (this.#kind === "arrow") {
      this.#readArrowBody(request.headers.contentLength);
    } else if (this.#kind === "json" && request.headers.announcesBody) {
      const { maxJsonBytes } = dependencies.services.config;
      this.#bufferBody(
        new BodyBuffer(maxJsonBytes, dependencies.bodyLimiter, this.#onBody, this.#fail),
      );
    } else {
      this.#onBody(emptyBody);
    }
  }

  #readArrowBody(length: number | undefined): void {
    const { request, dependencies } = this;
    const { bodyLimiter } = dependencies;
    const isShort = !this.#idempotencyKey && length !== undefined && length <= shortUpload;
    // Without free memory the body streams instead, and waits for memory in the engine.
    if (isShort && bodyLimiter.tryReserve(length)) {
      const buffer = new BodyBuffer(length, bodyLimiter, this.#onBody, this.#fail, length);
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
    const { route, request } = this;
    const raw = parseQuery(this.query);
    const id = this.#id(raw);
    const body = route.body && this.#kind === "json" ? this.#jsonBody(id) : undefined;
    const params = route.params.read(route.translation?.params?.(raw) ?? raw);
    this.#call = new RequestCall(
      request,
      route.dialect,
      id,
      this.#pathParams(),
      params,
      body ?? this.#rawBody,
      contextOf(request.headers, body),
      request.headers.fresh(),
    );
    const reply = this.#checkAdministrative(this.#call);
    if (reply instanceof Promise) {
      reply.then(this.#reply).catch((error) => this.#fail(this.#uploadError ?? error));
    } else {
      this.#reply(reply);
    }
  }

  /** The body for an operation that reads it undecoded. */
  get #rawBody(): ArrowBody | undefined {
    const isRaw = this.#kind === "arrow" || this.route.operation.body.kind === "raw-json";
    return this.#upload ?? (isRaw ? this.#body : undefined);
  }

  /** Runs the handler if the caller may do what the content of the request asks for. */
  #checkAdministrative(call: RequestCall): Promise<Reply> | Reply {
    const identity = this.#identity as Identity;
    const { services } = this.dependencies;
    const check = checkAdministrative(this.route.operation, identity, call, services);
    return check ? check.then(() => this.#runHandler(call)) : this.#runHandler(call);
  }

  #runHandler(call: RequestCall): Promise<Reply> | Reply {
    return this.#idempotencyKey ? this.#runOnce(call, this.#idempotencyKey) : this.#handle(call);
  }

  #handle(call: RequestCall): Promise<Reply> | Reply {
    return this.route.operation.handle(this.dependencies.services, call);
  }

  /** Runs the handler unless an earlier request with the same idempotency key has run it. */
  #runOnce(call: RequestCall, key: IdempotencyKey): Promise<Reply> {
    const { route, request, query } = this;
    const callerId = this.#identity?.id ?? "";
    const idempotentRequest = {
      ...scopeToCaller(key, callerId),
      repeatable: route.operation.repeatable === true,
      body: this.#idempotentBody ?? bufferedBody(this.#body ?? emptyBody),
      fingerprint: (bodyDigest: Buffer) =>
        requestFingerprint(
          {
            operation: route.operation.id,
            dialect: route.dialect,
            path: request.path,
            query,
            callerId,
            header: (name) => request.headers.get(name),
          },
          bodyDigest,
        ),
    };
    return runIdempotent(this.dependencies.services, idempotentRequest, (attempt?: Attempt) => {
      call.attempt = attempt;
      return this.#handle(call);
    });
  }

  #id(raw: RawParams): string[] {
    const segment = this.segments.id;
    if (segment === undefined) return [];
    const delimiter = raw.delimiter ?? defaultDelimiter;
    if (typeof delimiter !== "string" || delimiter === "") {
      throw invalidInput("`delimiter` must be given once and not be empty");
    }
    return parseIdentifier(segment, delimiter);
  }

  /** Path parameters other than the id. */
  #pathParams(): Readonly<Record<string, string>> {
    let params: Record<string, string> | undefined;
    for (const name in this.segments) {
      if (name === "id") continue;
      params ??= {};
      params[name] = decode(this.segments[name] as string, `\`${name}\` in the path`);
    }
    return params ?? noPathParams;
  }

  #jsonBody(id: readonly string[]): Record<string, unknown> {
    const body = parseJson(this.#body ?? emptyBody);
    if (this.segments.id !== undefined) checkBodyId(body.id, id);
    const canonical = this.route.translation?.body?.(body) ?? body;
    this.route.body?.validate(canonical);
    return canonical;
  }

  /** A running handler undoes its work before the client gets the error. */
  readonly #failUpload = (error: unknown): void => {
    this.#uploadError = error;
    this.#upload?.abort();
    if (!this.#call) this.#fail(error);
  };

  readonly #reply = (reply: Reply): void => {
    const { operation, translation } = this.route;
    let final = reply;
    if (operation.status && final.kind !== "arrow" && !final.status) {
      final = mergeObjects(final, { status: operation.status });
    }
    if (translation?.reply && this.#call) final = translation.reply(final, this.#call);
    this.#releaseBody();
    this.request.respond(final);
  };

  readonly #fail = (error: unknown): void => {
    try {
      this.#releaseBody();
      const joustError = asJoustError(error);
      const translated = this.route.translation?.failure?.(joustError) ?? joustError;
      if (translated instanceof JoustError) this.request.fail(translated);
      else this.request.respond(translated);
    } catch (unexpected) {
      this.request.failUnexpectedly(unexpected);
    }
  };

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

/** The API key in a body; "" if the body has none or is invalid. */
function apiKeyIn(body: Uint8Array): string {
  try {
    return keyOf(parseJson(body));
  } catch {
    return "";
  }
}
