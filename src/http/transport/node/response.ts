import type { IncomingMessage, ServerResponse } from "node:http";
import type { TransportResponse } from "../transport.js";

/** How long a client may send nothing in the middle of a body, ms: the limit of uWebSockets.js. */
const bodyIdleLimit = 10_000;

/** Bytes of one write to the socket. The last piece waits until the socket has sent all pieces before it. */
const pieceBytes = 256 * 1024;

/** A reply of Node's HTTP server as a `TransportResponse`, with its events and its backpressure. */
export class NodeResponse implements TransportResponse {
  #status = 200;
  #message = "OK";
  readonly #headers: string[] = [];
  #headSent = false;
  #ended = false;
  #aborted = false;
  /** The socket is full; a `drain` event follows. */
  #full = false;
  #awaitsDrain = false;
  /** Bytes of the body that `tryEnd` has written. */
  #offset = 0;
  #bodyRead = false;
  #onAborted: (() => void) | undefined;
  #onWritable: ((offset: number) => boolean) | undefined;

  /**
   * `onClose` runs when the connection has the whole reply, or is closed. It does not run for a reply that waits for
   * earlier ones when the connection closes.
   */
  constructor(
    private readonly req: IncomingMessage,
    private readonly res: ServerResponse,
    onClose: () => void,
  ) {
    res.on("close", () => {
      onClose();
      this.closed();
    });
  }

  writeStatus(status: string): this {
    this.#status = Number(status.slice(0, 3));
    this.#message = status.slice(4);
    return this;
  }

  writeHeader(name: string, value: string): this {
    // Node ignores this header in a list of headers.
    if (name === "connection" && value === "close") this.res.shouldKeepAlive = false;
    this.#headers.push(name, value);
    return this;
  }

  write(chunk: string | Uint8Array): boolean {
    this.#sendHead();
    this.#write(chunk);
    return !this.#full;
  }

  #write(chunk: string | Uint8Array): void {
    this.#full = !this.res.write(chunk);
    // Few replies fill the socket: the others need no listener.
    if (!this.#full || this.#awaitsDrain) return;
    this.#awaitsDrain = true;
    this.res.once("drain", () => this.#drained());
  }

  tryEnd(bodyFromOffset: Uint8Array, totalBytes: number): [boolean, boolean] {
    this.#sendHead(totalBytes);
    let at = 0;
    while (!this.#full) {
      const piece = bodyFromOffset.subarray(at, at + pieceBytes);
      at += piece.byteLength;
      this.#offset += piece.byteLength;
      if (this.#offset >= totalBytes) {
        this.#finish(piece);
        return [true, true];
      }
      if (piece.byteLength > 0) this.#write(piece);
      if (at >= bodyFromOffset.byteLength) break;
    }
    return [!this.#full, false];
  }

  end(body?: string | Uint8Array, closeConnection = false): this {
    if (!this.#headSent) {
      if (closeConnection) this.writeHeader("connection", "close");
      this.#sendHead(body === undefined ? 0 : Buffer.byteLength(body));
    }
    this.#finish(body);
    return this;
  }

  endWithoutBody(): this {
    this.#sendHead();
    this.#finish();
    return this;
  }

  close(): this {
    this.req.socket.destroy();
    this.closed();
    return this;
  }

  onWritable(handler: (offset: number) => boolean): this {
    this.#onWritable = handler;
    return this;
  }

  onAborted(handler: () => void): this {
    this.#onAborted = handler;
    return this;
  }

  onData(handler: (chunk: Uint8Array, isLast: boolean) => void): this {
    const { req } = this;
    this.#limitBody();
    req.on("data", (chunk: Buffer) => handler(chunk, false));
    req.on("end", () => {
      this.#bodyRead = true;
      req.socket.setTimeout(0);
      if (!this.#aborted) handler(new Uint8Array(0), true);
    });
    return this;
  }

  getRemoteAddressAsText(): string {
    return this.req.socket.remoteAddress ?? "";
  }

  cork(write: () => void): this {
    write();
    return this;
  }

  pause(): void {
    if (this.#bodyRead) return;
    this.req.pause();
    this.req.socket.setTimeout(0);
  }

  resume(): void {
    if (this.#bodyRead) return;
    this.req.resume();
    this.#limitBody();
  }

  /** The server destroys a socket at its timeout. There is no timeout while a handler computes the reply. */
  #limitBody(): void {
    this.req.socket.setTimeout(bodyIdleLimit);
  }

  #sendHead(contentLength?: number): void {
    if (this.#headSent) return;
    this.#headSent = true;
    if (contentLength !== undefined) this.writeHeader("content-length", String(contentLength));
    this.res.writeHead(this.#status, this.#message, this.#headers);
  }

  #finish(body?: string | Uint8Array): void {
    this.#ended = true;
    this.res.end(body);
  }

  #drained(): void {
    this.#awaitsDrain = false;
    this.#full = false;
    if (!this.#ended) this.#onWritable?.(this.#offset);
  }

  /** The handler has written the whole reply. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The connection closes after this reply. */
  get closesConnection(): boolean {
    return !this.res.shouldKeepAlive;
  }

  /**
   * Reports that the connection has closed, once and only if the reply has not ended. The transport calls it too: Node
   * gives a reply its socket, and then the `close` event, only when all earlier replies of the connection have ended.
   */
  closed(): void {
    if (this.#ended || this.#aborted) return;
    this.#aborted = true;
    this.#onAborted?.();
  }
}
