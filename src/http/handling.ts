import { type Authenticator, type Identity, known } from "../auth/authenticator.js";
import { allows } from "../auth/roles.js";
import type { ArrowBody, Upload } from "../engine/index.js";
import { asJoustError, ErrorCode, invalidInput, JoustError } from "../errors.js";
import { extended } from "../extended.js";
import type { RawParams, Reply } from "../operations/operation.js";
import { type OnceKey, onceKey } from "../requests/key.js";
import { type OnceBody, once } from "../requests/once.js";
import type { Attempt } from "../requests/requests.js";
import type { Services } from "../services.js";
import { parseJson, UploadSink, WholeSink } from "./body.js";
import { type BodyKind, bodyKind, wrongBody } from "./body-kind.js";
import type { BodyRoom } from "./body-room.js";
import { RequestCall } from "./call.js";
import { contextOf, keyOf } from "./common-fields.js";
import type { Exchange, Sink } from "./exchange.js";
import { fingerprintOf } from "./fingerprint.js";
import { checkBodyId, decode, defaultDelimiter, parseIdentifier } from "./identifier.js";
import { DigestedUpload, wholeBody } from "./once-body.js";
import { parseQuery } from "./params.js";
import type { Route } from "./route.js";
import type { Match } from "./router.js";

/** The largest body that is read before it is known who sends it, bytes. */
const anonymousLimit = 1024 * 1024;

/**
 * An upload up to this length, bytes, is collected before its handler begins: it comes with its headers or
 * right after them, and a stream of it would take longer to make than to read.
 */
const shortUpload = 64 * 1024;

const nothing = new Uint8Array(0);
const noPath: Readonly<Record<string, string>> = Object.freeze({});

/** What the handling of requests works with. */
export interface Rooms {
  readonly services: Services;
  readonly authenticator: Authenticator;
  /** Makes the engine's end of an upload. */
  openUpload(): Upload;
  readonly bodyRoom: BodyRoom;
}

/**
 * One request to a known route, from who asks to the reply.
 * Runs through without a promise where the caller is known already and the handler needs none.
 */
export class Handling {
  readonly #kind: BodyKind;
  #identity: Identity | undefined;
  /** Complete. */
  #body: Uint8Array | undefined;
  #upload: Upload | undefined;
  #sink: WholeSink | undefined;
  /** Why the upload was broken off here. */
  #broken: unknown;
  /** What is wrong with the request, for those who may know. */
  #refusal: JoustError | undefined;
  #call: RequestCall | undefined;
  /** Of a request that is to take effect once. */
  #key: OnceKey | undefined;
  #digested: OnceBody | undefined;

  constructor(
    private readonly rooms: Rooms,
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
      const { headers } = this.exchange;
      const { authenticator, services } = this.rooms;
      const identity = authenticator.identify(headers.key);
      this.#refusal = wrongBody(this.#kind, headers, services.config) ?? this.#wrongKey();
      const keyInBody =
        !this.#refusal &&
        identity === undefined &&
        !headers.presentsIdentity &&
        headers.announcesBody &&
        this.#kind === "json";
      if (!this.#refusal) this.#receive(keyInBody);
      if (!keyInBody) this.#await(identity);
    } catch (error) {
      this.#fail(error);
    }
  }

  #wrongKey(): JoustError | undefined {
    const { operation, dialect } = this.route;
    try {
      this.#key = onceKey(operation, dialect, this.exchange.headers);
      return undefined;
    } catch (error) {
      return asJoustError(error);
    }
  }

  #receive(keyInBody: boolean): void {
    const { exchange, rooms } = this;
    const { config } = rooms.services;
    if (this.#kind === "arrow") {
      this.#receiveArrow(exchange.headers.contentLength);
    } else if (this.#kind === "json" && exchange.headers.announcesBody) {
      const limit = keyInBody ? Math.min(anonymousLimit, config.maxJsonBytes) : config.maxJsonBytes;
      const complete = keyInBody ? this.#takeKey : this.#takeBody;
      this.#collect(new WholeSink(limit, rooms.bodyRoom, complete, this.#fail));
    } else {
      this.#body = nothing;
    }
  }

  #receiveArrow(length: number | undefined): void {
    const { exchange, rooms } = this;
    const mayBeCollected = !this.#key && length !== undefined && length <= shortUpload;
    // Who finds no room waits for some as a stream does.
    if (mayBeCollected && rooms.bodyRoom.tryTake(length)) {
      const sink = new WholeSink(length, rooms.bodyRoom, this.#takeBody, this.#fail, length);
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
  }

  #collect(sink: WholeSink, lasting = false): void {
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

  readonly #takeKey = (body: Uint8Array): void => {
    this.#body = body;
    this.#await(this.rooms.authenticator.identify(keyOf(parseJson(body))));
  };

  #await(identity: Identity | undefined | Promise<Identity | undefined>): void {
    if (identity instanceof Promise) {
      identity.then((known) => this.#identified(known)).catch(this.#fail);
    } else {
      this.#identified(identity);
    }
  }

  #identified(identity: Identity | undefined): void {
    this.#identity = known(identity);
    const { permission, id } = this.route.operation;
    if (!allows(this.#identity.role, permission)) {
      throw new JoustError(
        ErrorCode.PermissionDenied,
        `the key \`${this.#identity.name}\` has the role ${this.#identity.role}; ${id} needs ${permission}`,
      );
    }
    this.exchange.trust();
    this.exchange.caller = this.#identity.id;
    if (this.#refusal) throw this.#refusal;
    this.#advance();
  }

  /** Runs the handler once it is known who asks and the body, or its beginning, is there. */
  #advance(): void {
    if (!this.#identity || (!this.#body && !this.#upload)) return;
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
    const reply = this.#key ? this.#once(this.#call, this.#key) : this.#handle(this.#call);
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

  #handle(call: RequestCall): Promise<Reply> | Reply {
    return this.route.operation.handle(this.rooms.services, call);
  }

  #once(call: RequestCall, key: OnceKey): Promise<Reply> {
    const { route, exchange, query } = this;
    const sender = this.#identity?.id ?? "";
    const request = {
      ...key,
      repeatable: route.operation.repeatable === true,
      body: this.#digested ?? wholeBody(this.#body ?? nothing),
      fingerprint: (digest: Buffer) => fingerprintOf(route, exchange, query, sender, digest),
    };
    return once(this.rooms.services, request, (attempt?: Attempt) => {
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
    this.#dropBody();
    const failure = asJoustError(error);
    const translated = this.route.translation?.failure?.(failure) ?? failure;
    if (translated instanceof JoustError) this.exchange.fail(translated);
    else this.exchange.answer(translated);
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
