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
import { extended } from "../foundation/extended.js";
import { type BodyKind, bodyKind, wrongBody } from "./body-kind.js";
import type { BodyLimiter } from "./body-limiter.js";
import { BufferedSink, UploadSink } from "./body-sinks.js";
import { RequestCall } from "./call.js";
import { DigestedUpload, wholeBody } from "./digested-body.js";
import type { Exchange, Sink } from "./exchange.js";
import { fingerprintOf } from "./fingerprint.js";
import type { Route } from "./route.js";
import type { Match } from "./router.js";

/** The largest body of an unauthenticated caller that is read for a key in it, bytes. */
const keyInBodyLimit = 1024 * 1024;

/**
 * An upload up to this length, bytes, is collected before its handler begins: it comes with its headers or
 * right after them, and a stream of it would take longer to make than to read.
 */
const shortUpload = 64 * 1024;

const nothing = new Uint8Array(0);
const noPath: Readonly<Record<string, string>> = Object.freeze({});

/** What the handling of requests works with. */
export interface RequestDependencies {
  readonly services: Services;
  readonly authenticator: Authenticator;
  /** Makes the engine's end of an upload. */
  openUpload(): Upload;
  readonly bodyLimiter: BodyLimiter;
  /** For bodies that are read before their callers are authenticated. */
  readonly unauthenticatedBodyLimiter: BodyLimiter;
}

/**
 * One request to a known route, from authentication to the reply. The order of checks: authentication
 * (401), permission (403), content type and announced size (415, 413), then body, id and parameters (400).
 * An unauthenticated caller is answered 401 whatever else is wrong, and takes no memory of `bodyRoom`.
 * Runs through without a promise where the caller is known already and the handler needs none.
 */
export class RequestHandler {
  readonly #kind: BodyKind;
  #identity: Identity | undefined;
  /** Complete. */
  #body: Uint8Array | undefined;
  #upload: Upload | undefined;
  #sink: BufferedSink | undefined;
  /** Why the upload was broken off here. */
  #broken: unknown;
  #call: RequestCall | undefined;
  /** Of a request that is to take effect once. */
  #key: IdempotencyKey | undefined;
  #digested: IdempotentBody | undefined;

  constructor(
    private readonly rooms: RequestDependencies,
    private readonly exchange: Exchange,
    private readonly route: Route,
    private readonly segments: Match["segments"],
    private readonly query: string,
  ) {
    exchange.operation = route.operation.id;
    this.#kind = bodyKind(route, exchange.headers);
  }

  start(): void {
    try {
      const { authenticator, unauthenticatedBodyLimiter } = this.rooms;
      const identity = authenticator.identify(this.exchange.headers.key);
      if (identity instanceof Promise) {
        this.exchange.wait(unauthenticatedBodyLimiter, this.#fail);
        identity.then((found) => this.#identified(found)).catch(this.#fail);
      } else if (identity === undefined && this.#mayHaveKeyInBody()) this.#receiveKey();
      else this.#identified(identity);
    } catch (error) {
      this.#fail(error);
    }
  }

  #mayHaveKeyInBody(): boolean {
    const { headers } = this.exchange;
    if (headers.presentsIdentity || !headers.announcesBody || this.#kind !== "json") return false;
    return wrongBody(this.#kind, headers, this.rooms.services.config) === undefined;
  }

  /** A body without a valid key is answered 401, whatever else is wrong with it. */
  #receiveKey(): void {
    const { unauthenticatedBodyLimiter, services } = this.rooms;
    const limit = Math.min(keyInBodyLimit, services.config.maxJsonBytes);
    const fail = () => this.#fail(unauthenticated());
    this.#collect(new BufferedSink(limit, unauthenticatedBodyLimiter, this.#takeKey, fail));
  }

  readonly #takeKey = (body: Uint8Array): void => {
    this.#body = body;
    const identity = this.rooms.authenticator.identify(keyIn(body));
    if (identity instanceof Promise) {
      identity.then((found) => this.#identified(found)).catch(this.#fail);
    } else {
      // Not by the sink's `fail`: an authenticated caller gets to see the reason.
      try {
        this.#identified(identity);
      } catch (error) {
        this.#fail(error);
      }
    }
  };

  /** @throws JoustError 401, 403, and failures that the headers show */
  #identified(found: Identity | undefined): void {
    const { exchange, rooms, route } = this;
    const identity = requireIdentity(found);
    this.#identity = identity;
    checkPermission(route.operation, identity);
    exchange.trust();
    exchange.caller = identity.id;
    const wrong = wrongBody(this.#kind, exchange.headers, rooms.services.config);
    if (wrong) throw wrong;
    this.#key = idempotencyKey(route.operation, route.dialect, exchange.headers);
    if (this.#body) {
      this.#sink?.moveTo(rooms.bodyLimiter);
      this.#advance();
    } else this.#receive();
  }

  #receive(): void {
    const { exchange, rooms } = this;
    if (this.#kind === "arrow") {
      this.#receiveArrow(exchange.headers.contentLength);
    } else if (this.#kind === "json" && exchange.headers.announcesBody) {
      const { maxJsonBytes } = rooms.services.config;
      this.#collect(new BufferedSink(maxJsonBytes, rooms.bodyLimiter, this.#takeBody, this.#fail));
    } else {
      this.#takeBody(nothing);
    }
  }

  #receiveArrow(length: number | undefined): void {
    const { exchange, rooms } = this;
    const mayBeCollected = !this.#key && length !== undefined && length <= shortUpload;
    // Who finds no room waits for some as a stream does.
    if (mayBeCollected && rooms.bodyLimiter.tryTake(length)) {
      const sink = new BufferedSink(length, rooms.bodyLimiter, this.#takeBody, this.#fail, length);
      this.#collect(sink, true);
      return;
    }
    const upload = rooms.openUpload();
    this.#upload = upload;
    exchange.onAbort(() => upload.abort());
    let sink: Sink = new UploadSink(
      exchange,
      upload,
      rooms.services.config.maxUploadBytes,
      this.#breakUpload,
    );
    if (this.#key) sink = this.#digested = new DigestedUpload(sink, upload, exchange);
    exchange.receive(sink, true);
    this.#advance();
  }

  #collect(sink: BufferedSink, lasting = false): void {
    this.#sink = sink;
    // A handler that is at work with it ends in an answer or a failure that nobody hears.
    this.exchange.onAbort(() => {
      if (!this.#call) sink.discard();
    });
    this.exchange.receive(sink, lasting);
  }

  readonly #takeBody = (body: Uint8Array): void => {
    this.#body = body;
    this.#advance();
  };

  /** Runs the handler: it is known who asks, and the body, or its beginning, is there. */
  #advance(): void {
    const { route, exchange } = this;
    const raw = parseQuery(this.query);
    const id = this.#id(raw);
    const body = route.body && this.#kind === "json" ? this.#json(id) : undefined;
    const params = route.params.read(route.translation?.params?.(raw) ?? raw);
    this.#call = new RequestCall(
      exchange,
      route.dialect,
      id,
      this.#path(),
      params,
      body ?? this.#bytes,
      contextOf(exchange.headers, body),
      exchange.headers.fresh(),
    );
    const reply = this.#permitted(this.#call);
    if (reply instanceof Promise) {
      reply.then(this.#reply).catch((error) => this.#fail(this.#broken ?? error));
    } else {
      this.#reply(reply);
    }
  }

  /** The body of who reads it undecoded. */
  get #bytes(): ArrowBody | undefined {
    const isRead = this.#kind === "arrow" || this.route.operation.body.kind === "raw-json";
    return this.#upload ?? (isRead ? this.#body : undefined);
  }

  /** Runs the handler unless what the request asks for needs another role. */
  #permitted(call: RequestCall): Promise<Reply> | Reply {
    const identity = this.#identity as Identity;
    const { services } = this.rooms;
    const checked = checkAdministrative(this.route.operation, identity, call, services);
    return checked ? checked.then(() => this.#run(call)) : this.#run(call);
  }

  #run(call: RequestCall): Promise<Reply> | Reply {
    return this.#key ? this.#once(call, this.#key) : this.#handle(call);
  }

  #handle(call: RequestCall): Promise<Reply> | Reply {
    return this.route.operation.handle(this.rooms.services, call);
  }

  #once(call: RequestCall, key: IdempotencyKey): Promise<Reply> {
    const { route, exchange, query } = this;
    const sender = this.#identity?.id ?? "";
    const request = {
      ...scopeToCaller(key, sender),
      repeatable: route.operation.repeatable === true,
      body: this.#digested ?? wholeBody(this.#body ?? nothing),
      fingerprint: (digest: Buffer) => fingerprintOf(route, exchange, query, sender, digest),
    };
    return runIdempotent(this.rooms.services, request, (attempt?: Attempt) => {
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
  #path(): Readonly<Record<string, string>> {
    let path: Record<string, string> | undefined;
    for (const name in this.segments) {
      if (name === "id") continue;
      path ??= {};
      path[name] = decode(this.segments[name] as string, `\`${name}\` in the path`);
    }
    return path ?? noPath;
  }

  #json(id: readonly string[]): Record<string, unknown> {
    const body = parseJson(this.#body ?? nothing);
    if (this.segments.id !== undefined) checkBodyId(body.id, id);
    const canonical = this.route.translation?.body?.(body) ?? body;
    this.route.body?.validate(canonical);
    return canonical;
  }

  /** A handler that reads the upload undoes what it has begun before anybody is answered. */
  readonly #breakUpload = (error: unknown): void => {
    this.#broken = error;
    this.#upload?.abort();
    if (!this.#call) this.#fail(error);
  };

  readonly #reply = (reply: Reply): void => {
    const { operation, translation } = this.route;
    let final = reply;
    if (operation.status && final.kind !== "arrow" && !final.status) {
      final = extended(final, { status: operation.status });
    }
    if (translation?.reply && this.#call) final = translation.reply(final, this.#call);
    this.#dropBody();
    this.exchange.answer(final);
  };

  readonly #fail = (error: unknown): void => {
    try {
      this.#dropBody();
      const failure = asJoustError(error);
      const translated = this.route.translation?.failure?.(failure) ?? failure;
      if (translated instanceof JoustError) this.exchange.fail(translated);
      else this.exchange.answer(translated);
    } catch (unforeseen) {
      this.exchange.unforeseen(unforeseen);
    }
  };

  /**
   * What has come of the body is used up; what is still to come of an upload is not wanted any more. An
   * upload that nobody has begun to read would keep its memory.
   */
  #dropBody(): void {
    this.#sink?.discard();
    if (this.exchange.bodyEnded) this.#upload?.discard();
    else this.#upload?.abort();
  }
}

/** The key in a body; "" if it has none, or is not a valid body. */
function keyIn(body: Uint8Array): string {
  try {
    return keyOf(parseJson(body));
  } catch {
    return "";
  }
}
