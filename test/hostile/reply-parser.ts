/** The characters of a failure's body that are kept, at least. */
export const KEPT = 2_000;

/** Reads one reply from the chunks of a connection. It keeps only the beginning of the body, which may be long. */
export class ReplyParser {
  status = 0;
  /** The beginning of the body of a failure. */
  body = "";
  done = false;
  /** The server ends the connection after the reply. */
  closes = false;
  /** The server sent bytes beyond the reply. */
  surplus = false;
  #head: Buffer = Buffer.alloc(0);
  /** Bytes of the body, or of the current chunk, that are missing; undefined: until the connection ends. */
  #left: number | undefined;
  #chunked = false;
  /** What a chunked body has next. */
  #next: "size" | "data" = "size";
  #line = "";

  add(bytes: Buffer): void {
    if (this.done) this.surplus = true;
    else if (this.status === 0) this.#readHead(Buffer.concat([this.#head, bytes]));
    else this.#readBody(bytes);
  }

  /** The connection has ended. */
  end(): void {
    if (this.status !== 0 && !this.#chunked && this.#left === undefined) this.done = true;
    this.closes = true;
  }

  #readHead(received: Buffer): void {
    this.#head = received;
    const end = received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = received.toString("latin1", 0, end).toLowerCase();
    const status = Number(head.slice(9, 12));
    const rest = received.subarray(end + 4);
    if (status < 200) {
      this.#readHead(rest);
      return;
    }
    this.status = status;
    this.closes = /\nconnection: close/.test(head);
    this.#chunked = /\ntransfer-encoding: chunked/.test(head);
    const length = /\ncontent-length: (\d+)/.exec(head)?.[1];
    if (length !== undefined) this.#left = Number(length);
    else if (status === 204 || status === 304) this.#left = 0;
    this.#readBody(rest);
  }

  #readBody(bytes: Buffer): void {
    if (this.#chunked) this.#readChunks(bytes);
    else if (this.#left === undefined) this.#keep(bytes);
    else {
      this.#keep(bytes.subarray(0, this.#left));
      this.#left -= bytes.length;
      this.done = this.#left <= 0;
      if (this.#left < 0) this.surplus = true;
    }
  }

  #readChunks(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.done) {
        this.surplus = true;
        return;
      }
      if (this.#next === "data") {
        const left = this.#left ?? 0;
        // The line end behind the data is part of `left`.
        this.#keep(bytes.subarray(at, at + left));
        const taken = Math.min(left, bytes.length - at);
        this.#left = left - taken;
        at += taken;
        if (this.#left === 0) this.#next = "size";
        continue;
      }
      const end = bytes.indexOf("\n", at);
      this.#line += bytes.toString("latin1", at, end < 0 ? bytes.length : end + 1);
      at = end < 0 ? bytes.length : end + 1;
      if (end >= 0) this.#readSize();
    }
  }

  /** The last chunk has an empty line behind it. */
  #readSize(): void {
    const line = this.#line;
    if (line === "0\r\n") return;
    this.#line = "";
    if (line === "0\r\n\r\n") this.done = true;
    else {
      this.#left = Number.parseInt(line, 16) + 2;
      this.#next = "data";
    }
  }

  #keep(bytes: Buffer): void {
    if (this.status >= 400 && this.body.length < KEPT) this.body += bytes.toString("utf8");
  }
}
