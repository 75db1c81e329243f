import type { Reply } from "../api/operation.js";
import { asJoustError, type JoustError } from "../foundation/errors.js";
import { detached, type InFlight, type InFlightEntry } from "../foundation/in-flight.js";
import type { BodyLimiter } from "./body-limiter.js";
import type { Headers } from "./headers.js";
import { PendingBody } from "./pending-body.js";
import { problem, problemHeaders, problemStatus } from "./problem.js";
import { type Outgoing, type Ready, ready, sendReply } from "./reply.js";
import { type Sending, slowRate } from "./reply-limiter.js";
import type { TransportResponse } from "./transport/transport.js";

/** Where the bytes of a request body go. A chunk's memory is only valid during the call. */
export interface Sink {
  push(chunk: Uint8Array): void;
  end(): void;
  /** Told what `push` or `end` threw. */
  fail(error: unknown): void;
}

const discard: Sink = { push() {}, end() {}, fail() {} };

/** Bytes that are read and thrown away for a caller who has no right to send them, before the connection is dropped. */
const discardLimit = 64 * 1024 * 1024;

/** How long a peer may send or take nothing in the middle of a stream, ms. */
const idleLimit = 300_000;

/** What an exchange needs of the server. */
export interface Host {
  readonly inFlight: InFlight<Exchange>;
  /** Whether answers announce the end of their connection. */
  readonly draining: boolean;
  /** Called once for each exchange that ended. */
  finished(exchange: Exchange, status: number): void;
  failed(exchange: Exchange, error: JoustError): void;
}

/**
 * One request and its answer on the socket.
 *
 * An answer waits until the request's body has been read to its end: clients that send everything
 * before they read (urllib3, reqwest) would otherwise meet a closed socket instead of the reason.
 * After the peer is gone nothing touches the socket any more.
 */
export class Exchange implements Outgoing, InFlightEntry, Sending {
  place = detached;
  /** Tells callers apart; "" until it is known who asks. */
  caller = "";
  held = 0;
  slowMs = 0;
  readonly started = performance.now();
  readonly requestId: string;
  /** Id of the operation, for the log. */
  operation = "";
  aborted = false;
  /** True inside a callback of the socket, where writes are corked already. */
  #corked = true;
  #sink: Sink = discard;
  #pending: PendingBody | undefined;
  #bodyEnded: boolean;
  #paused = false;
  #settled = false;
  #ended = false;
  #lingers = false;
  #held: Ready | undefined;
  #discarded = 0;
  #trusted = false;
  /** In the middle of a stream, with the peer to move next. */
  #waitsForPeer = false;
  #lastActivity = 0;
  /** Bytes of the answer that the socket has taken, now and at the last tick. */
  #taken = 0;
  #takenBefore = 0;
  #lastTick = 0;
  readonly #onAbort: (() => void)[] = [];
  #onEnd: (() => void) | undefined;

  constructor(
    private readonly host: Host,
    readonly res: TransportResponse,
    readonly headers: Headers,
    readonly path: string,
    readonly isHead: boolean,
  ) {
    this.requestId = headers.requestId();
    this.#bodyEnded = !headers.announcesBody;
  }

  /** Sends the body to a sink. `lasting`: the body may take as long as it needs. */
  receive(sink: Sink, lasting = false): void {
    const pending = this.#pending;
    this.#pending = undefined;
    this.#sink = sink;
    this.#waitsForPeer = lasting && !this.#bodyEnded;
    this.#lastActivity = Date.now();
    if (pending) {
      // Before the sink gets the bytes: it may pause again.
      this.resume();
      pending.moveTo(sink);
    }
    if (this.#bodyEnded) sink.end();
  }

  /**
   * Collects the beginning of the body until `receive` is called, in memory of `room`, and reads no more
   * of a long one. `fail` is called if the room has no memory left.
   */
  wait(room: BodyLimiter, fail: (error: unknown) => void): void {
    if (this.#bodyEnded) return;
    this.#pending = new PendingBody(room, () => this.pause(), fail);
    this.#sink = this.#pending;
  }

  /** The caller may send all of the body even when nobody wants it any more. */
  trust(): void {
    this.#trusted = true;
  }

  /** Takes no more of the body until `resume`. False: nothing more will come anyway. */
  pause(): boolean {
    if (this.#bodyEnded || this.aborted) return false;
    if (!this.#paused) this.res.pause();
    this.#paused = true;
    return true;
  }

  /** After the end of the body it can wait: resuming starts the socket's limit of 10 s. */
  resume(): void {
    if (!this.#bodyEnded) this.#unpause();
  }

  #unpause(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.aborted) this.res.resume();
  }

  onAbort(work: () => void): void {
    this.#onAbort.push(work);
  }

  onEnd(work: () => void): void {
    this.#onEnd = work;
  }

  /** Ends the socket's first callback: what has not been answered by now lives on. */
  linger(): void {
    this.#corked = false;
    if (this.#ended || this.aborted) return;
    this.#lingers = true;
    this.host.inFlight.add(this);
    this.res.onAborted(() => this.#abort());
    if (this.#bodyEnded) return;
    this.res.onData((chunk, isLast) => {
      this.#corked = true;
      try {
        this.#take(chunk instanceof Uint8Array ? chunk : new Uint8Array(chunk), isLast);
      } catch (error) {
        this.unforeseen(error);
      }
      this.#corked = false;
    });
  }

  #take(chunk: Uint8Array, isLast: boolean): void {
    this.#lastActivity = Date.now();
    if (isLast) {
      this.#bodyEnded = true;
      this.#waitsForPeer = false;
    }
    this.#feed(chunk, isLast);
    const enough = this.#discarded > discardLimit && !this.#trusted;
    if (this.#held && (isLast || enough)) this.#send(this.#held, enough);
  }

  #feed(chunk: Uint8Array, isLast: boolean): void {
    const sink = this.#sink;
    if (sink === discard) {
      this.#discarded += chunk.byteLength;
      return;
    }
    try {
      if (chunk.byteLength > 0) sink.push(chunk);
      if (isLast) sink.end();
    } catch (error) {
      sink.fail(error);
    }
  }

  /** The first answer counts; later ones are dropped. */
  answer(reply: Reply): void {
    if (this.#settled || this.aborted) {
      release(reply);
      return;
    }
    const encoded = ready(reply);
    this.#settled = true;
    this.#dropPending();
    if (this.#bodyEnded) this.#send(encoded, false);
    else this.#hold(encoded);
  }

  #hold(reply: Ready): void {
    this.#held = reply;
    this.#sink = discard;
    this.#waitsForPeer = false;
    this.resume();
  }

  /** Answers with the error body. `headers`: what the failure adds to those of its status. */
  fail(error: unknown, headers?: Record<string, string>): void {
    if (this.#settled || this.aborted) return;
    const known = asJoustError(error);
    this.host.failed(this, known);
    this.answer({
      kind: "json",
      status: problemStatus(known),
      value: problem(known, this.path),
      headers: { ...problemHeaders(known), ...headers },
    });
  }

  /** After an error that nobody has caught: nobody else would answer. */
  unforeseen(error: unknown): void {
    if (this.#settled) this.broke(error);
    else this.fail(error);
  }

  #send(reply: Ready, close: boolean): void {
    this.#held = undefined;
    this.#unpause();
    try {
      sendReply(this, reply, close || this.host.draining);
    } catch (error) {
      // A part of the answer may be on its way.
      this.broke(error);
    }
  }

  /** Writes to the socket in one packet where possible. */
  write(work: () => void): void {
    if (this.aborted) return;
    if (this.#corked) work();
    else this.res.cork(work);
  }

  blocked(waits: boolean): void {
    this.#waitsForPeer = waits;
    this.#lastActivity = Date.now();
  }

  taken(bytes: number): void {
    this.#taken += bytes;
  }

  holds(bytes: number): void {
    this.held = bytes;
  }

  /** The answer has been handed to the socket in full. */
  sent(status: number): void {
    this.#ended = true;
    this.host.inFlight.delete(this);
    this.#onEnd?.();
    this.host.finished(this, status);
  }

  /** The answer broke off after it had begun: all that is left is to drop the connection. */
  broke(error: unknown): void {
    if (this.aborted || this.#ended) return;
    this.host.failed(this, asJoustError(error));
    this.res.close();
    // Before it lingers the socket has nobody to tell.
    if (!this.#lingers) this.#abort();
  }

  get bodyEnded(): boolean {
    return this.#bodyEnded;
  }

  /** Called every few seconds: a stream that may still move outlives the socket's limit of 10 s. */
  tick(now: number): void {
    if (this.held > 0) this.#judge(now);
    if (!this.#waitsForPeer || this.#paused || this.aborted) return;
    if (now - this.#lastActivity > idleLimit) {
      this.res.close();
      return;
    }
    // Resuming starts the limit anew; without a pause before it, it would stop all events for good.
    this.res.pause();
    this.res.resume();
  }

  #judge(now: number): void {
    const ms = this.#lastTick === 0 ? 0 : now - this.#lastTick;
    const bytes = this.#taken - this.#takenBefore;
    this.#lastTick = now;
    this.#takenBefore = this.#taken;
    const isSlow = this.#waitsForPeer && bytes * 1_000 < slowRate * ms;
    this.slowMs = isSlow ? this.slowMs + ms : 0;
  }

  /** Drops the connection: at the end of a drain, or of a peer who reads too slowly. */
  drop(): void {
    if (!this.aborted) this.res.close();
  }

  #dropPending(): void {
    this.#pending?.discard();
    this.#pending = undefined;
  }

  #abort(): void {
    this.aborted = true;
    this.#dropPending();
    if (this.#held) release(this.#held);
    this.host.inFlight.delete(this);
    this.#onEnd?.();
    for (const work of this.#onAbort) {
      try {
        work();
      } catch (error) {
        this.host.failed(this, asJoustError(error));
      }
    }
    this.host.finished(this, 499);
  }
}

/** A reply that nobody will read: stops the work behind it. */
function release(reply: Reply): void {
  if (reply.kind === "arrow") reply.answer.rest?.cancel();
  if (reply.kind === "blob") reply.source.end();
}
