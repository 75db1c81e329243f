import type { BlobRange } from "../api/operation.js";
import type { Outgoing } from "./reply.js";

/** Bytes read ahead of the peer. */
const partBytes = 4 * 1024 * 1024;

/** Sends bytes of a known number, as the peer takes them; the head is written already. */
export class BlobBody {
  #wake: ((offset: number) => void) | undefined;

  constructor(
    private readonly out: Outgoing,
    private readonly range: BlobRange,
    private readonly status: number,
  ) {}

  /** Never rejects. */
  async run(): Promise<void> {
    const { out, range } = this;
    const { source, start, end } = range;
    out.onAbort(() => this.#wake?.(0));
    out.res.onWritable((offset) => {
      this.#wake?.(offset);
      return true;
    });
    try {
      for (let at = start; at < end && !out.aborted; ) {
        const part = await source.read(at, Math.min(at + partBytes, end));
        await this.#send(part, at - start, end - start);
        at += part.byteLength;
      }
    } catch (error) {
      out.broke(error);
    } finally {
      source.end();
    }
  }

  /** Sends a part that begins at `offset` of the body. */
  async #send(part: Uint8Array, offset: number, total: number): Promise<void> {
    const { out } = this;
    for (let at = offset; at < offset + part.byteLength && !out.aborted; ) {
      let [ok, done] = [false, false];
      out.write(() => {
        [ok, done] = out.res.tryEnd(part.subarray(at - offset), total);
        if (done) out.sent(this.status);
      });
      if (ok || done) return;
      at = await this.#writable();
    }
  }

  /** The offset from which the socket takes more. */
  #writable(): Promise<number> {
    this.out.blocked(true);
    return new Promise((resolve) => {
      this.#wake = (offset) => {
        this.#wake = undefined;
        this.out.blocked(false);
        resolve(offset);
      };
    });
  }
}
