import { connect, type Socket } from "node:net";
import { ReplyParser } from "./reply-parser.js";

/**
 * The status of a reply; "none": the connection ended without one; "partial": it ended within a successful one;
 * "late": none arrived in time; "surplus": bytes followed it, or an earlier reply on the connection.
 */
export type Outcome = number | "none" | "partial" | "late" | "surplus";

export interface Reply {
  readonly outcome: Outcome;
  readonly body: string;
}

/** A reply to a query that takes longer is a failure. */
const REPLY_MILLIS = 60_000;

/** How long the server may send nothing before the client closes a connection of a broken request. */
const IDLE_MILLIS = 100;

/** Sends well-formed requests one after the other, over one connection as long as the server keeps it open. */
export class SharedConnection {
  #socket: Socket | undefined;
  #parser = new ReplyParser();
  #changed: () => void = () => {};
  #closed = false;

  constructor(
    private readonly port: number,
    private readonly hostname: string,
  ) {}

  /** A connection that the server closed while it was idle costs a second attempt. */
  async exchange(bytes: Buffer): Promise<Reply> {
    const isReused = this.#socket !== undefined;
    const reply = await this.#attempt(bytes);
    return reply.outcome === "none" && isReused ? this.#attempt(bytes) : reply;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #attempt(bytes: Buffer): Promise<Reply> {
    if (this.#parser.surplus) return this.#endSurplus();
    if (this.#socket === undefined || this.#closed) this.#open();
    const parser = new ReplyParser();
    this.#parser = parser;
    this.#socket?.write(bytes);
    await this.#end();
    if (parser.surplus) return this.#endSurplus();
    if (!parser.done || parser.closes) this.close();
    if (parser.done) return { outcome: parser.status, body: parser.body };
    if (!this.#closed) return { outcome: "late", body: "" };
    return { outcome: parser.status === 200 ? "partial" : "none", body: "" };
  }

  #endSurplus(): Reply {
    this.close();
    this.#parser = new ReplyParser();
    return { outcome: "surplus", body: "" };
  }

  #open(): void {
    this.#closed = false;
    const socket = connect({ port: this.port, host: this.hostname, noDelay: true });
    const end = (): void => {
      if (this.#socket !== socket) return;
      this.#closed = true;
      this.#parser.end();
      this.#changed();
    };
    socket.on("data", (chunk) => {
      if (this.#socket !== socket) return;
      this.#parser.add(chunk);
      if (this.#parser.done) this.#changed();
    });
    socket.on("end", end).on("close", end).on("error", end);
    this.#socket = socket;
  }

  /** Resolves at the end of the reply, of the connection, or of the time. */
  #end(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, REPLY_MILLIS);
      this.#changed = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Sends bytes over a connection of their own. Resolves with every reply, each with what follows it. */
export function exchangeAlone(
  { port, hostname }: { port: number; hostname: string },
  bytes: Buffer,
  cut: boolean,
): Promise<Reply[]> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: hostname });
    const received: Buffer[] = [];
    const done = (): void => {
      socket.destroy();
      resolve(repliesIn(Buffer.concat(received).toString("latin1")));
    };
    socket.setTimeout(IDLE_MILLIS, done);
    socket.on("connect", () => {
      socket.write(bytes, () => {
        if (cut) setImmediate(done);
      });
    });
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("end", done).on("close", done).on("error", done);
  });
}

function repliesIn(text: string): Reply[] {
  const heads = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)];
  if (heads.length === 0) return [{ outcome: "none", body: "" }];
  return heads.map((match) => ({
    outcome: Number(match[1]),
    body: text.slice(match.index, match.index + 2_000),
  }));
}
