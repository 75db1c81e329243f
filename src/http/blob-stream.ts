import type { BlobRange } from "../api/operation.js";
import type { ResponseWriter } from "./reply.js";

/** Bytes of one read from the blob. */
const partBytes = 4 * 1024 * 1024;

/** Sends a body of known length at the speed of the client. The caller has written the head. */
export class BlobStream {
  #wake: ((offset: number) => void) | undefined;

  constructor(
    private readonly writer: ResponseWriter,
    private readonly range: BlobRange,
    private readonly status: number,
  ) {}

  /** Never rejects. */
  async run(): Promise<void> {
    const { writer, range } = this;
    const { source, start, end } = range;
    writer.onAbort(() => this.#wake?.(0));
    writer.res.onWritable((offset) => {
      this.#wake?.(offset);
      return true;
    });
    try {
      for (let at = start; at < end && !writer.aborted; ) {
        const part = await source.read(at, Math.min(at + partBytes, end));
        await this.#send(part, at - start, end - start);
        at += part.byteLength;
      }
    } catch (error) {
      writer.destroy(error);
    } finally {
      source.end();
    }
  }

  /** Sends a part that starts at `offset` of the body. */
  async #send(part: Uint8Array, offset: number, total: number): Promise<void> {
    const { writer } = this;
    for (let at = offset; at < offset + part.byteLength && !writer.aborted; ) {
      let [ok, done] = [false, false];
      writer.cork(() => {
        [ok, done] = writer.res.tryEnd(part.subarray(at - offset), total);
        if (done) writer.finish(this.status);
      });
      if (ok || done) return;
      at = await this.#writable();
    }
  }

  /** Resolves to the offset of the next byte that the socket accepts. */
  #writable(): Promise<number> {
    this.writer.setWaitingForClient(true);
    return new Promise((resolve) => {
      this.#wake = (offset) => {
        this.#wake = undefined;
        this.writer.setWaitingForClient(false);
        resolve(offset);
      };
    });
  }
}
