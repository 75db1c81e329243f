import { createHash } from "node:crypto";
import type { IdempotentBody } from "../api/idempotency/run.js";
import type { Upload } from "../engine/index.js";
import type { BodyConsumer } from "./body-consumers.js";
import type { HttpRequest } from "./http-request.js";

/** A body of an idempotent request that is already in memory. */
export function bufferedBody(body: Uint8Array): IdempotentBody {
  return {
    digest: Promise.resolve(createHash("sha256").update(body).digest()),
    whole: true,
    release() {},
    ignore() {},
  };
}

/** Computes the digest of an upload while it streams. The engine sees the end of the upload after `release`. */
export class DigestedUpload implements BodyConsumer, IdempotentBody {
  readonly digest: Promise<Buffer>;
  readonly whole = false;
  readonly #hash = createHash("sha256");
  #resolve!: (digest: Buffer) => void;
  #reject!: (error: unknown) => void;
  #released = false;

  constructor(
    private readonly inner: BodyConsumer,
    private readonly upload: Upload,
    private readonly request: HttpRequest,
  ) {
    this.digest = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // The upload reports the same error. Only a handler that has read nothing needs the digest's.
    this.digest.catch(() => {});
    request.onAbort(() =>
      this.#reject(new Error("the client disconnected before the end of its body")),
    );
  }

  push(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.inner.push(chunk);
  }

  end(): void {
    this.#resolve(this.#hash.digest());
  }

  fail(error: unknown): void {
    this.#reject(error);
    this.inner.fail(error);
  }

  release(): void {
    this.#released = true;
    this.inner.end();
  }

  ignore(): void {
    if (this.#released) return;
    this.upload.abort();
    this.request.resume();
  }
}
