/** What joust uses of uWebSockets.js: the part that builds 20.30 and 20.57 have in common. */

/** Valid only until the route handler returns. */
export interface UwsRequest {
  /** As sent: not percent-decoded. */
  getUrl(): string;
  /** Lower case. */
  getMethod(): string;
  /** Without the `?`; undefined (20.30) or empty when there is none. */
  getQuery(): string | undefined;
  /** Header names come in lower case. */
  forEach(visit: (name: string, value: string) => void): void;
}

/** Any call after `onAborted` or after the end of the answer throws. */
export interface UwsResponse {
  writeStatus(status: string): UwsResponse;
  writeHeader(name: string, value: string): UwsResponse;
  /** Appends a chunk of unknown total; false when the socket is full and the rest was buffered. */
  write(chunk: string | Uint8Array): boolean;
  /** Writes what the socket takes, buffers nothing; `[all written, answer finished]`. Go on at `onWritable`'s offset. */
  tryEnd(bodyFromOffset: Uint8Array, totalBytes: number): [boolean, boolean];
  end(body?: string | Uint8Array, closeConnection?: boolean): UwsResponse;
  /** Ends without `Content-Length`. Given arguments, build 20.30 takes the answer for unfinished and aborts the process. */
  endWithoutBody(): UwsResponse;
  /** Drops the connection; runs `onAborted` when the answer has not ended. */
  close(): UwsResponse;
  onWritable(handler: (offset: number) => boolean): UwsResponse;
  onAborted(handler: () => void): UwsResponse;
  /** The chunk's memory is gone when the handler returns. Runs once with an empty last chunk when there is no body. */
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): UwsResponse;
  cork(write: () => void): UwsResponse;
  /** Stops all events of the socket, `onAborted` included. */
  pause(): void;
  /** Only after `pause`: on its own it may stop the socket's events for good. Starts the limit of 10 s. */
  resume(): void;
}

/** Opaque. */
export type UwsListenSocket = { readonly __listenSocket: unique symbol };

export interface UwsApp {
  any(pattern: string, handler: (res: UwsResponse, req: UwsRequest) => void): UwsApp;
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
  us_listen_socket_close(socket: UwsListenSocket): void;
  us_socket_local_port(socket: UwsListenSocket): number;
  /** Without it (0) others may listen on the same port, and the system (Linux) shares connections out. */
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}
