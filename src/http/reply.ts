import { STATUS_CODES } from "node:http";
import type { Reply } from "../api/operation.js";
import { ArrowStream } from "./arrow-stream.js";
import { BlobStream } from "./blob-stream.js";
import { sendBuffer } from "./send-buffer.js";
import type { TransportResponse } from "./transport/transport.js";

/** Level of the LanceDB protocol that this server implements. The SDKs read it from every reply. */
const protocolVersion = "0.5.0";

/**
 * Length of the longest text body that is sent in one write. Head and body together must fit
 * uWebSockets.js' cork buffer of 16 KiB (see arrow-stream.ts).
 */
const maxTextLength = 4_096;

/** A reply whose JSON value is encoded as text. */
export type EncodedReply = Exclude<Reply, { kind: "json" }>;

/** Writes one reply to a socket. */
export interface ResponseWriter {
  readonly res: TransportResponse;
  readonly requestId: string;
  /** The headers that do not depend on the reply, names and values in turn. */
  readonly standardHeaders: readonly string[];
  readonly isHead: boolean;
  readonly aborted: boolean;
  /** Runs `work`, whose writes leave in one packet where possible. Does nothing after an abort. */
  cork(work: () => void): void;
  /** `waits`: the socket is full, and the client has to read before the server can send more. */
  setWaitingForClient(waits: boolean): void;
  /** Counts bytes of the body that the socket has accepted. */
  addSentBytes(bytes: number): void;
  /** Sets how many bytes of the engine's memory the reply holds until it is sent. */
  setHeldBytes(bytes: number): void;
  onAbort(work: () => void): void;
  /** Runs when the socket has accepted the whole reply, or the client has disconnected. */
  onEnd(work: () => void): void;
  /** Marks the reply as handed to the socket in full. */
  finish(status: number): void;
  /** Closes the connection: the reply has failed after a part of it was sent. */
  destroy(error: unknown): void;
}

/**
 * Encodes the JSON value of a reply. Returns every other reply unchanged.
 * @throws for a header that the socket would refuse: at this point another reply is still possible
 */
export function encodeReply(reply: Reply): EncodedReply {
  for (const name in reply.headers) {
    if (typeof reply.headers[name] === "string") continue;
    throw new TypeError(`the header ${name} of a reply is not a string`);
  }
  if (reply.kind !== "json") return reply;
  const text = JSON.stringify(reply.value);
  const { status, headers } = reply;
  return { kind: "encoded", text, ...(status && { status }), ...(headers && { headers }) };
}

/** Sends a reply, or starts a stream that sends it. `close`: the connection closes after the reply. */
export function sendReply(writer: ResponseWriter, reply: EncodedReply, close: boolean): void {
  if (reply.kind === "arrow") sendArrow(writer, reply, close);
  else if (reply.kind === "blob") sendBlob(writer, reply, close);
  else if (reply.kind === "bytes") writer.cork(() => sendBinary(writer, reply, close));
  else if (reply.kind === "encoded") writer.cork(() => sendText(writer, reply, close));
  else writer.cork(() => sendEmpty(writer, reply, close));
}

function sendText(
  writer: ResponseWriter,
  reply: Extract<EncodedReply, { kind: "encoded" }>,
  close: boolean,
): void {
  const status = reply.status ?? 200;
  writeHead(writer, status, "application/json", reply.headers);
  endWithBody(
    writer,
    reply.text.length > maxTextLength ? Buffer.from(reply.text) : reply.text,
    status,
    close,
  );
}

function sendBinary(
  writer: ResponseWriter,
  reply: Extract<EncodedReply, { kind: "bytes" }>,
  close: boolean,
): void {
  const status = reply.status ?? 200;
  writeHead(writer, status, reply.contentType, reply.headers);
  endWithBody(writer, reply.bytes, status, close);
}

function sendBlob(
  writer: ResponseWriter,
  reply: Extract<EncodedReply, { kind: "blob" }>,
  close: boolean,
): void {
  const status = reply.status ?? 200;
  writer.cork(() => {
    writeHead(writer, status, reply.contentType, reply.headers);
    if (writer.isHead) {
      writer.res.writeHeader("content-length", String(reply.end - reply.start));
      endWithoutBody(writer, close);
      writer.finish(status);
    } else if (close) announceClose(writer);
  });
  if (writer.isHead) reply.source.end();
  else void new BlobStream(writer, reply, status).run();
}

function sendEmpty(
  writer: ResponseWriter,
  reply: Extract<EncodedReply, { kind: "empty" }>,
  close: boolean,
): void {
  const status = reply.status ?? 200;
  writeHead(writer, status, undefined, reply.headers);
  // 204 must not carry a Content-Length, and `end` always writes one.
  if (status === 204) endWithoutBody(writer, close);
  else writer.res.end("", close);
  writer.finish(status);
}

function sendArrow(
  writer: ResponseWriter,
  reply: Extract<EncodedReply, { kind: "arrow" }>,
  close: boolean,
): void {
  const { contentType, headers } = reply;
  const { first, done, rest } = reply.answer;
  if (rest) {
    writer.setHeldBytes(rest.held);
    writer.onEnd(() => rest.cancel());
  }
  if (done || !rest) {
    writer.cork(() => {
      writeHead(writer, 200, contentType, headers);
      endWithBody(writer, first, 200, close);
    });
    return;
  }
  writer.cork(() => {
    writeHead(writer, 200, contentType, headers);
    if (close) announceClose(writer);
  });
  void new ArrowStream(writer, first, rest).run();
}

/** Sends a body and ends the reply: text in one write, bytes at the speed of the client. */
function endWithBody(
  writer: ResponseWriter,
  body: string | Uint8Array,
  status: number,
  close: boolean,
): void {
  if (writer.isHead) {
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
    writer.res.writeHeader("content-length", String(length));
    endWithoutBody(writer, close);
  } else if (typeof body !== "string") {
    if (close) announceClose(writer);
    sendBuffer(writer, body, status);
    return;
  } else {
    writer.res.end(body, close);
  }
  writer.finish(status);
}

/** Ends the reply after its head. */
function endWithoutBody(writer: ResponseWriter, close: boolean): void {
  if (close) announceClose(writer);
  writer.res.endWithoutBody();
}

/** Asks the client to close the connection after the reply. For replies that `res.end` does not finish. */
const announceClose = (writer: ResponseWriter): void => {
  writer.res.writeHeader("connection", "close");
};

/** Writes the status line, the headers of every reply, and `headers`. */
export function writeHead(
  writer: Pick<ResponseWriter, "res" | "requestId" | "standardHeaders">,
  status: number,
  contentType: string | undefined,
  headers: Readonly<Record<string, string>> | undefined,
): void {
  const { res, standardHeaders } = writer;
  if (status !== 200) res.writeStatus(`${status} ${STATUS_CODES[status]}`);
  res.writeHeader("phalanx-version", protocolVersion);
  res.writeHeader("x-request-id", writer.requestId);
  for (let at = 0; at < standardHeaders.length; at += 2) {
    res.writeHeader(standardHeaders[at] as string, standardHeaders[at + 1] as string);
  }
  if (contentType !== undefined) res.writeHeader("content-type", contentType);
  for (const name in headers) res.writeHeader(name, headers[name] as string);
}

/** The HTTP status of a reply. */
export const replyStatus = (reply: Reply): number =>
  (reply.kind === "arrow" ? undefined : reply.status) ?? 200;
