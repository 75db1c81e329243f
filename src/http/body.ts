import { isUtf8 } from "node:buffer";
import type { Upload } from "../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../errors.js";
import type { BodyRoom } from "./body-room.js";
import type { Exchange, Sink } from "./exchange.js";

const nothing = new Uint8Array(0);

/** Collects a body that must be in memory as a whole. */
export class WholeSink implements Sink {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    private readonly limit: number,
    private readonly room: BodyRoom,
    private readonly complete: (body: Uint8Array) => void,
    readonly fail: (error: unknown) => void,
  ) {}

  push(chunk: Uint8Array): void {
    if (this.#size + chunk.byteLength > this.limit) {
      throw tooLarge(this.limit, "--max-json-bytes");
    }
    this.room.take(chunk.byteLength);
    this.#size += chunk.byteLength;
    this.#chunks.push(Buffer.from(chunk));
  }

  /** Nobody needs the body any more. */
  discard(): void {
    this.room.giveBack(this.#size);
    this.#size = 0;
    this.#chunks.length = 0;
  }

  end(): void {
    const [first = nothing] = this.#chunks;
    this.complete(this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.#size) : first);
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
    /** Told that nothing more comes before the upload is read. */
    private readonly read: () => void,
    readonly fail: (error: unknown) => void,
  ) {}

  push(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    if (this.limit > 0 && this.#size > this.limit) throw tooLarge(this.limit, "--max-upload-bytes");
    if (this.upload.push(chunk) || !this.exchange.pause()) return;
    this.read();
    this.upload.drained().then(() => this.exchange.resume());
  }

  end(): void {
    this.upload.finish();
    this.read();
  }
}

/** 413 with what the limit is. */
const tooLarge = (limit: number, option: string): JoustError =>
  new JoustError(
    ErrorCode.InvalidInput,
    `the body is larger than ${limit} bytes, the limit that \`${option}\` sets`,
    413,
  );

/**
 * A JSON body, {} when there is none.
 * @throws JoustError (code 13) when it is no JSON object.
 */
export function parseJson(body: Uint8Array): Record<string, unknown> {
  if (body.byteLength === 0) return {};
  if (!isUtf8(body)) throw invalidInput("the body is not UTF-8");
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidInput(`the body is not JSON: ${(error as Error).message}`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    const kind = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
    throw invalidInput(`the body must be a JSON object, got ${kind}`);
  }
  return value as Record<string, unknown>;
}

/** A failure for a body of another media type than the operation takes; none named is fine. */
export function wrongMediaType(actual: string, wanted: string): JoustError | undefined {
  if (actual === "" || actual === wanted) return undefined;
  return new JoustError(
    ErrorCode.InvalidInput,
    `the content type is \`${actual}\`: send \`${wanted}\``,
    415,
  );
}
