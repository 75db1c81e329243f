import type { QueryRest } from "../../native/index.js";
import type { Outgoing } from "./reply.js";

/**
 * Bytes written at once. With its framing a piece must fit uWebSockets.js' cork buffer of 16 KiB:
 * when the socket is full while a longer one is corked, builds 20.30 and 20.57 send its frame and
 * lose its content.
 */
const pieceBytes = 16_000;

/**
 * Written after the socket was full. uWebSockets.js does not tell how much of its buffer has left,
 * only, at the next write, whether all of it has; a small write finds out and adds little.
 */
const probeBytes = 1_000;

/** Kept back of each part, and sent in probes at the end: so that the end is known to be with the kernel. */
const tailBytes = 32 * probeBytes;

/**
 * Sends a result part by part, no faster than the peer reads. In memory are at most two parts of the
 * engine's and a few pieces in the socket's buffer.
 */
export class ArrowStream {
  #wake: (() => void) | undefined;
  #full = false;

  constructor(
    private readonly out: Outgoing,
    private readonly first: Buffer,
    private readonly rest: QueryRest,
  ) {}

  /** Never rejects. */
  async run(): Promise<void> {
    const { out, rest } = this;
    const wake = () => this.#wake?.();
    out.onAbort(wake);
    out.res.onWritable(() => {
      wake();
      return true;
    });
    let tail: Buffer = Buffer.alloc(0);
    try {
      for (let part: Buffer | null = this.first; part; part = await rest.next()) {
        await this.#send(tail, pieceBytes);
        const cut = Math.max(0, part.length - tailBytes);
        await this.#send(part.subarray(0, cut), pieceBytes);
        tail = part.subarray(cut);
        if (out.aborted) return;
      }
      await this.#send(tail, probeBytes);
    } catch (error) {
      out.broke(error);
      return;
    }
    out.write(() => {
      out.res.end();
      out.sent(200);
    });
  }

  async #send(bytes: Buffer, pieceSize: number): Promise<void> {
    for (let from = 0; from < bytes.length && !this.out.aborted; ) {
      const piece = bytes.subarray(from, from + (this.#full ? probeBytes : pieceSize));
      from += piece.length;
      this.out.write(() => {
        this.#full = !this.out.res.write(piece);
      });
      if (this.#full) await this.#writable();
      this.out.taken(piece.length);
    }
  }

  #writable(): Promise<void> {
    this.out.blocked(true);
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        this.out.blocked(false);
        resolve();
      };
    });
  }
}
