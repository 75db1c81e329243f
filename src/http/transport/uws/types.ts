/** The part of uWebSockets.js that joust uses and that builds 20.30 and 20.57 have in common. */
import type { RequestHandler } from "../transport.js";

/*
 * The request and response objects of uWebSockets.js implement `TransportRequest` and `TransportResponse`
 * directly, with these differences:
 * - After `onAborted`, or after the end of the reply, every call throws.
 * - `endWithoutBody` with arguments makes build 20.30 treat the reply as unfinished and abort the process.
 * - `resume` without a `pause` before it may stop the socket's events for good.
 * - `getQuery` returns undefined in build 20.30 if there is no query.
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
  /** Closes all sockets of the app. */
  close(): UwsApp;
}

export interface Uws {
  App(): UwsApp;
  /** Throws if the files are not a certificate and its key. */
  SSLApp(options: { cert_file_name: string; key_file_name: string }): UwsApp;
  us_listen_socket_close(socket: UwsListenSocket): void;
  us_socket_local_port(socket: UwsListenSocket): number;
  /** Without this flag (0) several listeners may use a port, and the system (Linux) distributes connections among them. */
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}
