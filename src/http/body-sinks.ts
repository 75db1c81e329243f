import type { Upload } from "../engine/index.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { BodyLimiter } from "./body-limiter.js";
import type { Exchange, Sink } from "./exchange.js";

const nothing = new Uint8Array(0);

/** Collects a body that must be in memory as a whole. */
export class BufferedSink implements Sink {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    private readonly limit: number,
    private room: BodyLimiter,
    private readonly complete: (body: Uint8Array) => void,
    readonly fail: (error: unknown) => void,
    /** Bytes of the room that were taken for it before it came. */
    private taken = 0,
  ) {}

  push(chunk: Uint8Array): void {
    const size = this.#size + chunk.byteLength;
    if (size > this.limit) throw tooLarge(this.limit, "--max-json-bytes");
    if (size > this.taken) {
      this.room.take(size - this.taken);
      this.taken = size;
    }
    this.#size = size;
    this.#chunks.push(Buffer.from(chunk));
  }

  /** Moves the body's bytes to another room. @throws code 21 when there is no room for it */
  moveTo(room: BodyLimiter): void {
    room.take(this.taken);
    this.room.giveBack(this.taken);
    this.room = room;
  }

  /** Nobody needs the body any more. */
  discard(): void {
    this.room.giveBack(this.taken);
    this.taken = 0;
    this.#chunks.length = 0;
  }

  end(): void {
    const [first = nothing] = this.#chunks;
    const body = this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.#size) : first;
    // What was taken is for one copy.
    this.#chunks.length = 0;
    this.complete(body);
  }
}

/** Hands a body to the engine as it comes; while the engine's queue is full, the socket is not read. */
export class UploadSink implements Sink {
  #size = 0;

  constructor(
    private readonly exchange: Exchange,
    private readonly upload: Upload,
    /** Bytes; 0 is no limit. */
    private readonly limit: number,
    readonly fail: (error: unknown) => void,
  ) {}

  push(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    if (this.limit > 0 && this.#size > this.limit) throw uploadTooLarge(this.limit);
    if (this.upload.push(chunk) || !this.exchange.pause()) return;
    this.upload.drained().then(() => this.exchange.resume());
  }

  end(): void {
    this.upload.finish();
  }
}

/** The failure of an upload of more bytes. */
export const uploadTooLarge = (limit: number): JoustError => tooLarge(limit, "--max-upload-bytes");

/** 413 with what the limit is. */
const tooLarge = (limit: number, option: string): JoustError =>
  new JoustError(
    ErrorCode.InvalidInput,
    `the body is larger than ${limit} bytes, the limit that \`${option}\` sets`,
    413,
  );
