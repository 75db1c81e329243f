import { createHash } from "node:crypto";
import type { IdempotentBody } from "../api/idempotency/run.js";
import type { Upload } from "../engine/index.js";
import type { Exchange, Sink } from "./exchange.js";

/** The body of a request that is to take effect once, complete from the start. */
export function wholeBody(body: Uint8Array): IdempotentBody {
  return {
    digest: Promise.resolve(createHash("sha256").update(body).digest()),
    whole: true,
    release() {},
    ignore() {},
  };
}

/** Digests an upload on its way to the engine, and keeps the end of it back until it is released. */
export class DigestedUpload implements Sink, IdempotentBody {
  readonly digest: Promise<Buffer>;
  readonly whole = false;
  readonly #hash = createHash("sha256");
  #complete!: (digest: Buffer) => void;
  #broken!: (error: unknown) => void;
  #released = false;

  constructor(
    private readonly inner: Sink,
    private readonly upload: Upload,
    private readonly exchange: Exchange,
  ) {
    this.digest = new Promise((resolve, reject) => {
      this.#complete = resolve;
      this.#broken = reject;
    });
    // The handler is told too, by the upload; one that has read none of it is only told here.
    this.digest.catch(() => {});
    exchange.onAbort(() => this.#broken(new Error("the client went away before its body's end")));
  }

  push(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.inner.push(chunk);
  }

  end(): void {
    this.#complete(this.#hash.digest());
  }

  fail(error: unknown): void {
    this.#broken(error);
    this.inner.fail(error);
  }

  release(): void {
    this.#released = true;
    this.inner.end();
  }

  ignore(): void {
    if (this.#released) return;
    this.upload.abort();
    this.exchange.resume();
  }
}
