import type { Upload } from "../engine/index.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { BodyLimiter } from "./body-limiter.js";
import type { HttpRequest } from "./http-request.js";

/**
 * The largest Arrow body that the server buffers before it calls the handler, bytes. Such a body arrives
 * with its headers or right after them. A stream of it would take longer to set up than to read.
 */
export const SHORT_UPLOAD = 64 * 1024;

/** Receives the bytes of a request body. The memory of a chunk is valid only during the call. */
export interface BodyConsumer {
  push(chunk: Uint8Array): void;
  end(): void;
  /** Called with the error that `push` or `end` threw. */
  fail(error: unknown): void;
}

export const discardBody: BodyConsumer = { push() {}, end() {}, fail() {} };

const emptyBody = new Uint8Array(0);

/** Buffers a whole body in memory. */
export class BodyBuffer implements BodyConsumer {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    private readonly limit: number,
    private limiter: BodyLimiter,
    private readonly complete: (body: Uint8Array) => void,
    readonly fail: (error: unknown) => void,
    /** Bytes that the caller has reserved in `limiter` before the body arrives. */
    private reserved = 0,
  ) {}

  push(chunk: Uint8Array): void {
    const size = this.#size + chunk.byteLength;
    if (size > this.limit) throw tooLarge(this.limit, "--max-json-bytes");
    if (size > this.reserved) {
      this.limiter.reserve(size - this.reserved);
      this.reserved = size;
    }
    this.#size = size;
    this.#chunks.push(Buffer.from(chunk));
  }

  /** Moves the reservation to another limiter. @throws code 21 if that limiter has no memory left */
  moveTo(limiter: BodyLimiter): void {
    limiter.reserve(this.reserved);
    this.limiter.release(this.reserved);
    this.limiter = limiter;
  }

  /** Releases the memory. */
  discard(): void {
    this.limiter.release(this.reserved);
    this.reserved = 0;
    this.#chunks.length = 0;
  }

  end(): void {
    const [first = emptyBody] = this.#chunks;
    const body = this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.#size) : first;
    // The reservation covers one copy.
    this.#chunks.length = 0;
    this.complete(body);
  }
}

/** Passes each chunk to the engine. While the engine's queue is full, the server does not read the socket. */
export class UploadConsumer implements BodyConsumer {
  #size = 0;

  constructor(
    private readonly request: HttpRequest,
    private readonly upload: Upload,
    /** Bytes; 0 is no limit. */
    private readonly limit: number,
    readonly fail: (error: unknown) => void,
  ) {}

  push(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    if (this.limit > 0 && this.#size > this.limit) throw uploadTooLarge(this.limit);
    if (this.upload.push(chunk) || !this.request.pause()) return;
    this.upload.drained().then(() => this.request.resume());
  }

  end(): void {
    this.upload.finish();
  }
}

/** 413 for an Arrow body that exceeds `limit` bytes. */
export const uploadTooLarge = (limit: number): JoustError => tooLarge(limit, "--max-upload-bytes");

const tooLarge = (limit: number, option: string): JoustError =>
  new JoustError(
    ErrorCode.InvalidInput,
    `the body is larger than ${limit} bytes, the limit that \`${option}\` sets`,
    413,
  );
