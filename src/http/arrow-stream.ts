import type { QueryRest } from "../../native/index.js";
import type { ResponseWriter } from "./reply.js";

/**
 * Bytes of one write. With its chunk header a piece must fit uWebSockets.js' cork buffer of 16 KiB.
 * If the socket is full while a longer piece is corked, builds 20.30 and 20.57 send the chunk header
 * and lose the content.
 */
const pieceBytes = 16_000;

/**
 * Bytes of a write after the socket was full. uWebSockets.js reports only at the next write whether
 * its buffer is empty. A small write asks for this and adds little.
 */
const probeBytes = 1_000;

/**
 * The end of each part waits for the next part. The end of the last part is sent in probes, so that
 * the server knows when the kernel has all of the reply.
 */
const tailBytes = 32 * probeBytes;

/**
 * Sends an Arrow result part by part, at the speed of the client. At most two parts of the engine and
 * a few pieces in the socket's buffer are in memory.
 */
export class ArrowStream {
  #wake: (() => void) | undefined;
  #socketFull = false;

  constructor(
    private readonly writer: ResponseWriter,
    private readonly first: Buffer,
    private readonly rest: QueryRest,
  ) {}

  /** Never rejects. */
  async run(): Promise<void> {
    const { writer, rest } = this;
    const wake = () => this.#wake?.();
    writer.onAbort(wake);
    writer.res.onWritable(() => {
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
        if (writer.aborted) return;
      }
      await this.#send(tail, probeBytes);
    } catch (error) {
      writer.destroy(error);
      return;
    }
    writer.cork(() => {
      writer.res.end();
      writer.finish(200);
    });
  }

  async #send(bytes: Buffer, pieceSize: number): Promise<void> {
    for (let from = 0; from < bytes.length && !this.writer.aborted; ) {
      const piece = bytes.subarray(from, from + (this.#socketFull ? probeBytes : pieceSize));
      from += piece.length;
      this.writer.cork(() => {
        this.#socketFull = !this.writer.res.write(piece);
      });
      if (this.#socketFull) await this.#writable();
      this.writer.addSentBytes(piece.length);
    }
  }

  /** Resolves when the socket accepts bytes again, or the client has disconnected. */
  #writable(): Promise<void> {
    this.writer.setWaitingForClient(true);
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        this.writer.setWaitingForClient(false);
        resolve();
      };
    });
  }
}
