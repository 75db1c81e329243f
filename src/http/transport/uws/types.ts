/** What joust uses of uWebSockets.js: the part that builds 20.30 and 20.57 have in common. */
import type { RequestHandler } from "../transport.js";

/*
 * Requests and answers of uWebSockets.js are `TransportRequest` and `TransportResponse` as they are.
 * What these do not say:
 * - After `onAborted`, or after the end of the answer, every call throws.
 * - `endWithoutBody` with arguments makes build 20.30 take the answer for unfinished and abort the process.
 * - `resume` without a `pause` before it may stop the socket's events for good.
 * - `getQuery` is undefined in build 20.30 when there is no query.
 */

/** Opaque. */
export type UwsListenSocket = { readonly __listenSocket: unique symbol };

export interface UwsApp {
  any(pattern: string, handler: RequestHandler): UwsApp;
  listen(
    host: string,
    port: number,
    options: number,
    listening: (socket: UwsListenSocket | false) => void,
  ): UwsApp;
  /** Closes all of its sockets. */
  close(): UwsApp;
}

export interface Uws {
  App(): UwsApp;
  /** Throws when the files are not a certificate and its key. */
  SSLApp(options: { cert_file_name: string; key_file_name: string }): UwsApp;
  us_listen_socket_close(socket: UwsListenSocket): void;
  us_socket_local_port(socket: UwsListenSocket): number;
  /** Without it (0) others may listen on the same port, and the system (Linux) shares connections out. */
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}
