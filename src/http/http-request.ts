import type { Reply } from "../api/operation.js";
import type { Identity } from "../auth/authenticator.js";
import { asJoustError, type JoustError } from "../foundation/errors.js";
import { type InFlightEntry, type InFlightSet, notInFlight } from "../foundation/in-flight-set.js";
import { type BodyConsumer, discardBody } from "./body-consumers.js";
import type { BodyLimiter } from "./body-limiter.js";
import type { Headers } from "./headers.js";
import { PendingBody } from "./pending-body.js";
import { problem, problemHeaders, problemStatus } from "./problem.js";
import { type EncodedReply, encodeReply, type ResponseWriter, sendReply } from "./reply.js";
import { type SendingReply, slowRate } from "./reply-limiter.js";
import type { RequestRecord } from "./request-record.js";
import { remoteAddress } from "./transport/remote-address.js";
import type { TransportResponse } from "./transport/transport.js";

/**
 * Bytes of a refused body that the server reads and discards for an unauthenticated client. After
 * them it closes the connection.
 */
const discardLimit = 64 * 1024 * 1024;

/** How long a client may send or read nothing in the middle of a stream, ms. */
const idleLimit = 300_000;

/** The part of the server that a request uses. */
export interface ServerContext {
  readonly inFlight: InFlightSet<HttpRequest>;
  /** While true, replies announce that the connection closes. */
  readonly draining: boolean;
  /** The headers of the reply that do not depend on it, names and values in turn. */
  replyHeaders(headers: Headers): readonly string[];
  /** Called once for each request. */
  requestFinished(request: HttpRequest, status: number): void;
  requestFailed(request: HttpRequest, error: JoustError): void;
}

/**
 * One HTTP request: passes its body to a consumer and sends its reply to the socket.
 *
 * A reply waits until the server has read the whole body. Clients that send everything before they
 * read (urllib3, reqwest) would otherwise see a closed socket instead of the error. After the client
 * disconnects, no method touches the socket.
 */
export class HttpRequest implements ResponseWriter, InFlightEntry, SendingReply {
  position = notInFlight;
  /** The authenticated caller. */
  identity: Identity | undefined;
  /** Present if the audit log or a trace needs it. */
  record: RequestRecord | undefined;
  heldBytes = 0;
  slowMs = 0;
  readonly started = performance.now();
  readonly requestId: string;
  /** Id of the operation, for the log. */
  operation = "";
  aborted = false;
  /** The result of the handler is not needed any more. */
  cancelled = false;
  /** True inside a callback of the socket: the transport corks writes there. */
  #corked = true;
  #consumer: BodyConsumer = discardBody;
  #pending: PendingBody | undefined;
  #bodyEnded: boolean;
  #paused = false;
  /** A reply exists; later replies are discarded. */
  #replied = false;
  #finished = false;
  #isAsync = false;
  /** A reply that waits for the end of the body. */
  #waitingReply: EncodedReply | undefined;
  #discardedBytes = 0;
  #authenticated = false;
  /** In the middle of a stream: the next step is the client's. */
  #waitsForClient = false;
  #lastActivity = 0;
  /** Bytes of the reply that the socket has accepted: now, and at the last tick. */
  #sentBytes = 0;
  #sentBytesBefore = 0;
  #lastTick = 0;
  readonly #onAbort: (() => void)[] = [];
  #onEnd: (() => void) | undefined;
  /** Runs when the request has ended in any way. */
  #onRelease: (() => void)[] | undefined;
  #released = false;
  /** The reply does not wait for the rest of the body. */
  #bodyLimited = false;

  constructor(
    private readonly server: ServerContext,
    readonly res: TransportResponse,
    readonly headers: Headers,
    readonly path: string,
    readonly isHead: boolean,
  ) {
    this.requestId = headers.requestId();
    this.#bodyEnded = !headers.announcesBody;
  }

  /** The client has disconnected or has a reply: the body is discarded, so no handler may begin. */
  get isOver(): boolean {
    return this.aborted || this.#replied;
  }

  /** Passes the body to a consumer. `untimed`: the transport does not limit how long the body takes. */
  consumeBody(consumer: BodyConsumer, untimed = false): void {
    const pending = this.#pending;
    this.#pending = undefined;
    this.#consumer = consumer;
    this.#waitsForClient = untimed && !this.#bodyEnded;
    this.#lastActivity = Date.now();
    if (pending) {
      // Resume before the consumer gets the bytes: it may pause again.
      this.resume();
      pending.moveTo(consumer);
    }
    if (this.#bodyEnded) consumer.end();
  }

  /**
   * Buffers the start of the body until `consumeBody` is called, then stops reading the socket.
   * Calls `fail` if `limiter` has no memory left.
   */
  deferBody(limiter: BodyLimiter, fail: (error: unknown) => void): void {
    if (this.#bodyEnded || this.#pending) return;
    this.#pending = new PendingBody(limiter, () => this.pause(), fail);
    this.#consumer = this.#pending;
  }

  /** The address of the other end of the connection; "" after it was closed. */
  get remoteAddress(): string {
    return this.aborted ? "" : remoteAddress(this.res.getRemoteAddressAsText());
  }

  /** Sends the reply after this time (ms) even if the body has not ended, and closes the connection then. */
  limitBody(ms: number): void {
    if (this.#bodyEnded || this.aborted) return;
    const limit = () => {
      this.#bodyLimited = true;
      if (this.#waitingReply && !this.aborted) this.#send(this.#waitingReply, true);
    };
    if (ms === 0) {
      limit();
      return;
    }
    const timer = setTimeout(limit, ms).unref();
    this.onRelease(() => clearTimeout(timer));
  }

  /** Lets the client send the whole body even after the request has failed. */
  markAuthenticated(): void {
    this.#authenticated = true;
  }

  /** Stops reading the body until `resume`. Returns false if no more of the body follows. */
  pause(): boolean {
    if (this.#bodyEnded || this.aborted) return false;
    if (!this.#paused) this.res.pause();
    this.#paused = true;
    return true;
  }

  /** Does nothing after the end of the body: resuming starts the socket's timeout of 10 s. */
  resume(): void {
    if (!this.#bodyEnded) this.#unpause();
  }

  #unpause(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.aborted) this.res.resume();
  }

  /** Runs `work` when the client disconnects or `cancelWork` runs: at once if that has happened. */
  onAbort(work: () => void): void {
    this.#onAbort.push(work);
    if (this.cancelled) this.cancelWork();
  }

  onEnd(work: () => void): void {
    this.#onEnd = work;
  }

  /** Runs `work` when the reply was handed to the socket or the client has disconnected: at once if it has. */
  onRelease(work: () => void): void {
    this.#onRelease ??= [];
    if (this.#released) work();
    else this.#onRelease.push(work);
  }

  #release(): void {
    this.#released = true;
    this.#onEnd?.();
    for (const work of this.#onRelease?.splice(0) ?? []) work();
  }

  /** Stops the work of the handler as if the client had disconnected. */
  cancelWork(): void {
    this.cancelled = true;
    for (const work of this.#onAbort.splice(0)) {
      try {
        work();
      } catch (error) {
        this.server.requestFailed(this, asJoustError(error));
      }
    }
  }

  /** Registers the socket's callbacks if the first one returns before the reply is finished. */
  continueAsync(): void {
    this.#corked = false;
    if (this.#finished || this.aborted) return;
    this.#isAsync = true;
    this.server.inFlight.add(this);
    this.res.onAborted(() => this.#abort());
    if (this.#bodyEnded) return;
    this.res.onData((chunk, isLast) => {
      this.#corked = true;
      try {
        this.#onData(chunk instanceof Uint8Array ? chunk : new Uint8Array(chunk), isLast);
      } catch (error) {
        this.failUnexpectedly(error);
      }
      this.#corked = false;
    });
  }

  #onData(chunk: Uint8Array, isLast: boolean): void {
    this.#lastActivity = Date.now();
    if (isLast) {
      this.#bodyEnded = true;
      this.#waitsForClient = false;
    }
    this.#feed(chunk, isLast);
    const overLimit = this.#discardedBytes > discardLimit && !this.#authenticated;
    if (this.#waitingReply && (isLast || overLimit)) this.#send(this.#waitingReply, overLimit);
  }

  #feed(chunk: Uint8Array, isLast: boolean): void {
    const consumer = this.#consumer;
    if (consumer === discardBody) {
      this.#discardedBytes += chunk.byteLength;
      return;
    }
    try {
      if (chunk.byteLength > 0) consumer.push(chunk);
      if (isLast) consumer.end();
    } catch (error) {
      consumer.fail(error);
    }
  }

  /** Sends a reply once the body has ended. Discards every reply but the first. */
  respond(reply: Reply): void {
    if (this.isOver) {
      release(reply);
      return;
    }
    const encoded = encodeReply(reply);
    this.#replied = true;
    this.#pending?.discard();
    this.#consumer = discardBody;
    if (this.#bodyEnded || this.#bodyLimited) this.#send(encoded, !this.#bodyEnded);
    else this.#sendAfterBody(encoded);
  }

  #sendAfterBody(reply: EncodedReply): void {
    this.#waitingReply = reply;
    this.#waitsForClient = false;
    this.resume();
  }

  /** Replies with the error body. `headers` are added to those of the status. */
  fail(error: unknown, headers?: Record<string, string>): void {
    if (this.isOver) return;
    const joustError = asJoustError(error);
    this.server.requestFailed(this, joustError);
    this.respond({
      kind: "json",
      status: problemStatus(joustError),
      value: problem(joustError, this.path),
      headers: { ...problemHeaders(joustError), ...headers },
    });
  }

  /** Ends the request after an error that no other code has handled. */
  failUnexpectedly(error: unknown): void {
    if (this.#replied) this.destroy(error);
    else this.fail(error);
  }

  #send(reply: EncodedReply, close: boolean): void {
    this.#waitingReply = undefined;
    this.#unpause();
    try {
      sendReply(this, reply, close || this.server.draining);
    } catch (error) {
      // The socket may have sent a part of the reply.
      this.destroy(error);
    }
  }

  cork(work: () => void): void {
    if (this.aborted) return;
    if (this.#corked) work();
    else this.res.cork(work);
  }

  setWaitingForClient(waits: boolean): void {
    this.#waitsForClient = waits;
    this.#lastActivity = Date.now();
  }

  addSentBytes(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /** "" before authentication. */
  get callerId(): string {
    return this.identity?.id ?? "";
  }

  /** Bytes of a streamed reply that the socket has accepted. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  setHeldBytes(bytes: number): void {
    this.heldBytes = bytes;
  }

  finish(status: number): void {
    this.#finished = true;
    this.server.inFlight.delete(this);
    this.#release();
    this.server.requestFinished(this, status);
  }

  destroy(error: unknown): void {
    if (this.aborted || this.#finished) return;
    this.server.requestFailed(this, asJoustError(error));
    this.res.close();
    // Before `continueAsync` the socket has no callback for the close.
    if (!this.#isAsync) this.#abort();
  }

  get standardHeaders(): readonly string[] {
    return this.server.replyHeaders(this.headers);
  }

  get bodyEnded(): boolean {
    return this.#bodyEnded;
  }

  /**
   * The server calls this every few seconds. It measures how fast the client reads, and restarts the
   * socket's timeout of 10 s while the stream may still move.
   */
  tick(now: number): void {
    if (this.heldBytes > 0) this.#measureReader(now);
    if (!this.#waitsForClient || this.#paused || this.aborted) return;
    if (now - this.#lastActivity > idleLimit) {
      this.res.close();
      return;
    }
    // `resume` restarts the timeout. Without `pause` before it, it would stop all events for good.
    this.res.pause();
    this.res.resume();
  }

  #measureReader(now: number): void {
    const ms = this.#lastTick === 0 ? 0 : now - this.#lastTick;
    const bytes = this.#sentBytes - this.#sentBytesBefore;
    this.#lastTick = now;
    this.#sentBytesBefore = this.#sentBytes;
    const isSlow = this.#waitsForClient && bytes * 1_000 < slowRate * ms;
    this.slowMs = isSlow ? this.slowMs + ms : 0;
  }

  /** Closes the connection at the end of a drain, or if the client reads too slowly. */
  closeConnection(): void {
    if (!this.aborted) this.res.close();
  }

  #abort(): void {
    this.aborted = true;
    this.#pending?.discard();
    if (this.#waitingReply) release(this.#waitingReply);
    this.server.inFlight.delete(this);
    this.#release();
    this.cancelWork();
    this.server.requestFinished(this, 499);
  }
}

/** Stops the work behind a reply that is not sent. */
function release(reply: Reply): void {
  if (reply.kind === "arrow") reply.answer.rest?.cancel();
  if (reply.kind === "blob") reply.source.end();
}
