import type { BodyLimiter } from "./body-limiter.js";
import type { Sink } from "./exchange.js";

/** The socket is not read while so many bytes wait. Without a pause the end of the connection is noticed. */
const enough = 64 * 1024;

/** Collects the part of a body that arrives before the caller is authenticated. */
export class PendingBody implements Sink {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    private readonly room: BodyLimiter,
    private readonly pause: () => void,
    readonly fail: (error: unknown) => void,
  ) {}

  push(chunk: Uint8Array): void {
    this.room.take(chunk.byteLength);
    this.#size += chunk.byteLength;
    this.#chunks.push(Buffer.from(chunk));
    if (this.#size > enough) this.pause();
  }

  end(): void {}

  /** Passes all bytes on to a sink. */
  moveTo(sink: Sink): void {
    const chunks = this.#chunks.splice(0);
    this.discard();
    for (const chunk of chunks) sink.push(chunk);
  }

  discard(): void {
    this.room.giveBack(this.#size);
    this.#size = 0;
    this.#chunks.length = 0;
  }
}
