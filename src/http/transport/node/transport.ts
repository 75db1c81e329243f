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
import { addressError } from "../address.js";
import { readPair } from "../tls.js";
import type { RequestHandler, TlsFiles, Transport } from "../transport.js";
import { NodeRequest } from "./request.js";
import { NodeResponse } from "./response.js";

/** Limits of uWebSockets.js, so that clients meet the same ones with both transports. */
const options: ServerOptions = {
  keepAliveTimeout: 10_000,
  headersTimeout: 10_000,
  // An upload takes as long as it needs. `NodeResponse` limits how long its peer may send nothing.
  requestTimeout: 0,
  connectionsCheckingInterval: 2_000,
  highWaterMark: 64 * 1024,
  noDelay: true,
};

/** HTTP/1.1 with the parser and the sockets of Node: runs wherever Node does. */
export class NodeTransport implements Transport {
  readonly #server: Server;
  readonly #tls: TlsFiles | undefined;
  /** Open connections, each with its answers that have not left in full. */
  readonly #sockets = new Map<Socket, ServerResponse[]>();

  constructor(handle: RequestHandler, tls?: TlsFiles) {
    this.#tls = tls;
    const take = (req: IncomingMessage, res: ServerResponse) => {
      const { socket } = req;
      const answers = this.#sockets.get(socket);
      // Node goes on parsing after an answer that closes the connection.
      if (answers?.some(closesConnection)) return;
      answers?.push(res);
      res.once("close", () => answers?.splice(answers.indexOf(res), 1));
      handle(new NodeResponse(req, res), new NodeRequest(req));
    };
    this.#server = tls
      ? createHttpsServer({ ...options, ...readPair(tls) }, take)
      : createHttpServer(options, take);
    this.#server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
      this.#sockets.set(socket, []);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("timeout", (socket: Socket) => socket.destroy());
    this.#server.on("clientError", (error, socket: Socket) => {
      // A refusal in front of an answer that is still to come would be taken for that answer.
      if (this.#sockets.get(socket)?.some((answer) => !answer.writableEnded)) socket.destroy();
      else refuse(error, socket);
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
      // `exclusive` keeps the port from processes that Node's cluster module starts.
      const address = { host, port, exclusive: true, ...(shared && { reusePort: true }) };
      this.#server.listen(address, () => {
        this.#server.off("error", failed);
        const bound = this.#server.address();
        resolve(typeof bound === "object" && bound ? bound.port : port);
      });
    });
  }

  stopListening(): void {
    // The method of `http.Server` also closes idle connections, whose clients may be about to send.
    NetServer.prototype.close.call(this.#server);
  }

  close(): void {
    this.#server.close();
    // Sends what an ended answer has left in the socket's buffer.
    for (const socket of this.#sockets.keys()) socket.destroySoon();
  }

  /** Reads the certificate and its key again. New connections use them. Throws when they do not fit. */
  async reloadTls(): Promise<void> {
    if (this.#tls) (this.#server as HttpsServer).setSecureContext(readPair(this.#tls));
  }
}

const closesConnection = (answer: ServerResponse): boolean => !answer.shouldKeepAlive;

/** Whether `listen` knows `reusePort`: 22.12 and newer, 23.1 and newer. */
function sharesPorts(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}

/** Answers what Node's parser refuses: broken or oversized heads, two lengths, a head that never ends. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason] = refusals[error.code ?? ""] ?? malformed(error);
  const failure = new JoustError(ErrorCode.InvalidInput, reason, Number(status.slice(0, 3)));
  const body = JSON.stringify(problem(failure, ""));
  const head = ["content-type: application/json", `content-length: ${Buffer.byteLength(body)}`];
  socket.end([`HTTP/1.1 ${status}`, "connection: close", ...head, "", body].join("\r\n"));
}

/** `reason`: what Node's parser found, such as `Invalid character in Content-Length`. */
const malformed = ({ reason }: NodeJS.ErrnoException & { reason?: string }) =>
  [
    "400 Bad Request",
    `the request is not well-formed HTTP/1.1${reason ? `: ${reason}` : ""}`,
  ] as const;

const refusals: Readonly<Record<string, readonly [status: string, reason: string]>> = {
  HPE_HEADER_OVERFLOW: [
    "431 Request Header Fields Too Large",
    "the headers are longer than 16 KiB: send fewer or shorter ones",
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    "408 Request Timeout",
    "the head of the request did not arrive within 10 seconds",
  ],
};
