import { connect, type Socket } from "node:net";
import { tableFromIPC } from "apache-arrow";
import { items, stream } from "./arrow.js";

export interface RawAnswer {
  readonly status: number;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The received bytes of a connection. */
export interface Received {
  readonly text: string;
  /** The server ended the connection. */
  readonly closed: boolean;
}

/**
 * Sends raw bytes, which no HTTP client would send, and reads until the server closes the connection
 * or sends nothing for `idleMs`.
 */
export function exchangeRaw(
  url: string,
  parts: readonly (string | Uint8Array)[],
  idleMs = 1_000,
): Promise<Received> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    const received: Buffer[] = [];
    const done = (closed: boolean): void => {
      socket.destroy();
      resolve({ text: Buffer.concat(received).toString("latin1"), closed });
    };
    socket.setTimeout(idleMs, () => done(false));
    socket.on("connect", () => {
      for (const part of parts) socket.write(part);
    });
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("end", () => done(true));
    socket.on("error", (error) => (received.length > 0 ? done(true) : reject(error)));
  });
}

/** The first response of such an exchange; undefined if the server closed without one. */
export async function sendRaw(
  url: string,
  parts: readonly (string | Uint8Array)[],
  idleMs?: number,
): Promise<RawAnswer | undefined> {
  return parse((await exchangeRaw(url, parts, idleMs)).text);
}

/** A request head with HTTP line ends. */
export function head(...lines: readonly string[]): string {
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** A complete request that creates a table. */
export function createRequest(
  table: string,
  key: string,
  rows: Uint8Array,
  framing: "content-length" | "chunked" = "content-length",
): Buffer {
  const lines = head(
    `POST /v1/table/${table}/create HTTP/1.1`,
    "Host: x",
    `Authorization: Bearer ${key}`,
    "Connection: close",
    "Content-Type: application/vnd.apache.arrow.stream",
    framing === "content-length"
      ? `Content-Length: ${rows.byteLength}`
      : "Transfer-Encoding: chunked",
  );
  if (framing === "content-length") return Buffer.concat([Buffer.from(lines), rows]);
  const size = `${rows.byteLength.toString(16)}\r\n`;
  return Buffer.concat([Buffer.from(lines + size), rows, Buffer.from("\r\n0\r\n\r\n")]);
}

/** Sends a large create request without its last 100 bytes, so that the server writes files and waits. */
export function beginCreate({ port, key }: { port: number; key: string }, table: string): Socket {
  const part = tableFromIPC(items(10_000, { dimension: 64 }));
  const body = stream(part.concat(...Array.from({ length: 15 }, () => part)));
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => {});
  socket.write(
    head(
      `POST /v1/table/${table}/create HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${key}`,
      "Content-Type: application/vnd.apache.arrow.stream",
      `Content-Length: ${body.length}`,
    ),
  );
  socket.write(body.subarray(0, body.length - 100));
  return socket;
}

function parse(text: string): RawAnswer | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(statusLine.split(" ")[1]), headers, body: text.slice(end + 4) };
}
