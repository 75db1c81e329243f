import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import { Server as NetServer, type Socket } from "node:net";
import { ErrorCode, JoustError } from "../../../foundation/errors.js";
import { problem } from "../../problem.js";
import { securityHeaders } from "../../security-headers.js";
import { addressError } from "../address.js";
import { readCertificate } from "../tls.js";
import type { RequestHandler, TlsFiles, Transport } from "../transport.js";
import { NodeRequest } from "./request.js";
import { NodeResponse } from "./response.js";

/** The limits of uWebSockets.js: both transports have the same ones. */
const options: ServerOptions = {
  keepAliveTimeout: 10_000,
  headersTimeout: 10_000,
  // An upload has no time limit. `NodeResponse` limits how long the client may send nothing.
  requestTimeout: 0,
  connectionsCheckingInterval: 2_000,
  highWaterMark: 64 * 1024,
  noDelay: true,
};

/** HTTP/1.1 with Node's parser and sockets. Runs on every platform of Node. */
export class NodeTransport implements Transport {
  readonly #server: Server;
  readonly #tls: TlsFiles | undefined;
  /** Open connections, each with the replies that it still has to send. */
  readonly #sockets = new Map<Socket, NodeResponse[]>();

  constructor(handle: RequestHandler, tls?: TlsFiles) {
    this.#tls = tls;
    const accept = (req: IncomingMessage, res: ServerResponse) => {
      const { socket } = req;
      const replies = this.#sockets.get(socket);
      // Node continues to parse requests after a reply that closes the connection.
      if (replies?.some((reply) => reply.closesConnection)) return;
      const remove = () => void replies?.splice(replies.indexOf(reply), 1);
      const reply: NodeResponse = new NodeResponse(req, res, remove);
      replies?.push(reply);
      handle(reply, new NodeRequest(req));
    };
    this.#server = tls
      ? createHttpsServer({ ...options, ...readCertificate(tls) }, accept)
      : createHttpServer(options, accept);
    this.#server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
      const replies: NodeResponse[] = [];
      this.#sockets.set(socket, replies);
      socket.once("close", () => {
        this.#sockets.delete(socket);
        for (const reply of replies) reply.closed();
      });
    });
    this.#server.on("timeout", (socket: Socket) => socket.destroy());
    this.#server.on("clientError", (error, socket: Socket) => {
      // The client would take an error sent before a pending reply for that reply.
      if (this.#sockets.get(socket)?.some((reply) => !reply.ended)) socket.destroy();
      else rejectMalformed(error, socket, tls !== undefined);
    });
  }

  listen(host: string, port: number, shared: boolean): Promise<number> {
    if (shared && !sharesPorts()) {
      return Promise.reject(
        new Error(
          `--http-threads above 1 needs --http uws or Node 22.12: Node ${process.versions.node} cannot share a port among threads`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      const failed = (error: NodeJS.ErrnoException) => reject(addressError(host, port, error.code));
      this.#server.once("error", failed);
      // `exclusive`: processes of Node's cluster module do not share the port.
      const address = { host, port, exclusive: true, ...(shared && { reusePort: true }) };
      this.#server.listen(address, () => {
        this.#server.off("error", failed);
        const bound = this.#server.address();
        resolve(typeof bound === "object" && bound ? bound.port : port);
      });
    });
  }

  stopListening(): void {
    // `http.Server.close` also closes idle connections, which may have a request on its way.
    NetServer.prototype.close.call(this.#server);
  }

  close(): void {
    this.#server.close();
    // `destroySoon` first sends the end of a finished reply that is still in the socket's buffer.
    for (const socket of this.#sockets.keys()) socket.destroySoon();
  }

  async reloadTls(): Promise<void> {
    if (this.#tls) (this.#server as HttpsServer).setSecureContext(readCertificate(this.#tls));
  }
}

/** Whether `listen` supports `reusePort`: Node 22.12 and newer, 23.1 and newer. Exported for the tests. */
export function sharesPorts(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}

/** Replies to a request that Node's parser rejects: a malformed, oversized or incomplete head, or two lengths. */
function rejectMalformed(error: NodeJS.ErrnoException, socket: Socket, tls: boolean): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason] = parserErrors[error.code ?? ""] ?? malformed(error);
  const failure = new JoustError(ErrorCode.InvalidInput, reason, Number(status.slice(0, 3)));
  const body = JSON.stringify(problem(failure, ""));
  const headers = [
    ...securityHeaders(tls),
    ...["content-type", "application/json"],
    ...["content-length", String(Buffer.byteLength(body))],
  ];
  const lines = headers.flatMap((name, at) => (at % 2 ? [] : [`${name}: ${headers[at + 1]}`]));
  socket.end([`HTTP/1.1 ${status}`, "connection: close", ...lines, "", body].join("\r\n"));
}

/** `reason`: the message of Node's parser, for example `Invalid character in Content-Length`. */
const malformed = ({ reason }: NodeJS.ErrnoException & { reason?: string }) =>
  [
    "400 Bad Request",
    `the request is not well-formed HTTP/1.1${reason ? `: ${reason}` : ""}`,
  ] as const;

const parserErrors: Readonly<Record<string, readonly [status: string, reason: string]>> = {
  HPE_HEADER_OVERFLOW: [
    "431 Request Header Fields Too Large",
    "the headers are longer than 16 KiB: send fewer or shorter ones",
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    "408 Request Timeout",
    "the head of the request did not arrive within 10 seconds",
  ],
};
