import type { Reply } from "../api/operation.js";
import { ArrowStream } from "./arrow-stream.js";
import { BlobBody } from "./blob-body.js";
import type { TransportResponse } from "./transport/transport.js";
import { sendWhole } from "./whole-body.js";

/** Feature level of the LanceDB protocol that this server speaks. Its SDKs look for it on every answer. */
const protocolVersion = "0.5.0";

/**
 * Characters of a text that goes to the socket in one go. Head and body must fit uWebSockets.js'
 * cork buffer of 16 KiB: see arrow-stream.ts.
 */
const atOnce = 4_096;

/** A reply whose body is text or Arrow by now. */
export type Ready = Exclude<Reply, { kind: "json" }>;

/** The socket's side of an exchange, as far as sending needs it. */
export interface Outgoing {
  readonly res: TransportResponse;
  readonly requestId: string;
  readonly isHead: boolean;
  readonly aborted: boolean;
  write(work: () => void): void;
  /** Whether the peer has to take bytes before any more can be sent. */
  blocked(waits: boolean): void;
  /** The socket has taken so many more bytes of a body. */
  taken(bytes: number): void;
  /** Bytes of the engine's memory that the answer holds until its end. */
  holds(bytes: number): void;
  onAbort(work: () => void): void;
  /** Runs once the socket has taken all of the answer, or the peer is gone. */
  onEnd(work: () => void): void;
  sent(status: number): void;
  broke(error: unknown): void;
}

/**
 * Encodes a JSON value; the rest is ready as it is.
 * @throws for what the socket would not take, as long as another answer can be sent
 */
export function ready(reply: Reply): Ready {
  for (const name in reply.headers) {
    if (typeof reply.headers[name] === "string") continue;
    throw new TypeError(`the header ${name} of a reply is no string`);
  }
  if (reply.kind !== "json") return reply;
  const text = JSON.stringify(reply.value);
  const { status, headers } = reply;
  return { kind: "encoded", text, ...(status && { status }), ...(headers && { headers }) };
}

/** Sends a whole reply, or starts to. `close`: the connection ends with it. */
export function sendReply(out: Outgoing, reply: Ready, close: boolean): void {
  if (reply.kind === "arrow") sendArrow(out, reply, close);
  else if (reply.kind === "blob") sendBlob(out, reply, close);
  else if (reply.kind === "bytes") out.write(() => sendBytes(out, reply, close));
  else if (reply.kind === "encoded") out.write(() => sendText(out, reply, close));
  else out.write(() => sendEmpty(out, reply, close));
}

function sendText(out: Outgoing, reply: Extract<Ready, { kind: "encoded" }>, close: boolean): void {
  const status = reply.status ?? 200;
  writeHead(out, status, "application/json", reply.headers);
  end(out, reply.text.length > atOnce ? Buffer.from(reply.text) : reply.text, status, close);
}

function sendBytes(out: Outgoing, reply: Extract<Ready, { kind: "bytes" }>, close: boolean): void {
  const status = reply.status ?? 200;
  writeHead(out, status, reply.contentType, reply.headers);
  end(out, reply.bytes, status, close);
}

function sendBlob(out: Outgoing, reply: Extract<Ready, { kind: "blob" }>, close: boolean): void {
  const status = reply.status ?? 200;
  out.write(() => {
    writeHead(out, status, reply.contentType, reply.headers);
    if (out.isHead) {
      out.res.writeHeader("content-length", String(reply.end - reply.start));
      endBare(out, close);
      out.sent(status);
    } else if (close) announceClose(out);
  });
  if (out.isHead) reply.source.end();
  else void new BlobBody(out, reply, status).run();
}

function sendEmpty(out: Outgoing, reply: Extract<Ready, { kind: "empty" }>, close: boolean): void {
  const status = reply.status ?? 200;
  writeHead(out, status, undefined, reply.headers);
  // 204 must not carry a Content-Length, which `end` always writes.
  if (status === 204) endBare(out, close);
  else out.res.end("", close);
  out.sent(status);
}

function sendArrow(out: Outgoing, reply: Extract<Ready, { kind: "arrow" }>, close: boolean): void {
  const { contentType, headers } = reply;
  const { first, done, rest } = reply.answer;
  if (rest) {
    out.holds(rest.held);
    out.onEnd(() => rest.cancel());
  }
  if (done || !rest) {
    out.write(() => {
      writeHead(out, 200, contentType, headers);
      end(out, first, 200, close);
    });
    return;
  }
  out.write(() => {
    writeHead(out, 200, contentType, headers);
    if (close) announceClose(out);
  });
  void new ArrowStream(out, first, rest).run();
}

/** Ends the answer with a body: text in one go, bytes as the peer takes them. */
function end(out: Outgoing, body: string | Uint8Array, status: number, close: boolean): void {
  if (out.isHead) {
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
    out.res.writeHeader("content-length", String(length));
    endBare(out, close);
  } else if (typeof body !== "string") {
    if (close) announceClose(out);
    sendWhole(out, body, status);
    return;
  } else {
    out.res.end(body, close);
  }
  out.sent(status);
}

/** Ends the answer after its head. */
function endBare(out: Outgoing, close: boolean): void {
  if (close) announceClose(out);
  out.res.endWithoutBody();
}

/** For answers that `end` does not finish: the peer closes the connection when it has them. */
const announceClose = (out: Outgoing): void => {
  out.res.writeHeader("connection", "close");
};

/** The status line, the headers that every answer has, and those given. */
export function writeHead(
  out: Pick<Outgoing, "res" | "requestId">,
  status: number,
  contentType: string | undefined,
  headers: Readonly<Record<string, string>> | undefined,
): void {
  const { res } = out;
  if (status !== 200) res.writeStatus(statusLines[status] ?? `${status} Unknown`);
  res.writeHeader("phalanx-version", protocolVersion);
  res.writeHeader("x-request-id", out.requestId);
  if (contentType !== undefined) res.writeHeader("content-type", contentType);
  for (const name in headers) res.writeHeader(name, headers[name] as string);
}

const statusLines: Readonly<Record<number, string>> = {
  200: "200 OK",
  201: "201 Created",
  202: "202 Accepted",
  204: "204 No Content",
  206: "206 Partial Content",
  308: "308 Permanent Redirect",
  400: "400 Bad Request",
  401: "401 Unauthorized",
  403: "403 Forbidden",
  404: "404 Not Found",
  405: "405 Method Not Allowed",
  406: "406 Not Acceptable",
  409: "409 Conflict",
  413: "413 Content Too Large",
  415: "415 Unsupported Media Type",
  416: "416 Range Not Satisfiable",
  429: "429 Too Many Requests",
  500: "500 Internal Server Error",
  503: "503 Service Unavailable",
};
