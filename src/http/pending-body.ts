import type { BodyConsumer } from "./body-consumers.js";
import type { BodyLimiter } from "./body-limiter.js";

/**
 * Bytes after which the server stops reading the socket. Below them it keeps reading: a paused socket
 * does not report that the client disconnects.
 */
const pauseAt = 64 * 1024;

/** Buffers the part of a body that arrives before authentication is complete. */
export class PendingBody implements BodyConsumer {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    private readonly limiter: BodyLimiter,
    private readonly pause: () => void,
    readonly fail: (error: unknown) => void,
  ) {}

  push(chunk: Uint8Array): void {
    this.limiter.reserve(chunk.byteLength);
    this.#size += chunk.byteLength;
    this.#chunks.push(Buffer.from(chunk));
    if (this.#size > pauseAt) this.pause();
  }

  end(): void {}

  /** Passes all buffered bytes to another consumer. */
  moveTo(consumer: BodyConsumer): void {
    const chunks = this.#chunks.splice(0);
    this.discard();
    for (const chunk of chunks) consumer.push(chunk);
  }

  discard(): void {
    this.limiter.release(this.#size);
    this.#size = 0;
    this.#chunks.length = 0;
  }
}
