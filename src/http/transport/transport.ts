/**
 * The interface to an HTTP library. `uws/` implements it with uWebSockets.js, `node/` with Node's `http`
 * and `https`. Code outside of this folder does not depend on the implementation.
 */

/** Valid only until the request handler returns. */
export interface TransportRequest {
  /** The path as the client sent it: not percent-decoded. */
  getUrl(): string;
  /** Lower case. */
  getMethod(): string;
  /** Without the `?`; undefined or empty if there is none. */
  getQuery(): string | undefined;
  /** Visits every header line. Names are in lower case. */
  forEach(visit: (name: string, value: string) => void): void;
}

/** After `onAborted` or after the end of the reply, the effect of every call is undefined. */
export interface TransportResponse {
  /** The address of the other end of the connection. uWebSockets.js returns the bytes of the text. */
  getRemoteAddressAsText(): ArrayBuffer | string;
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  /** Appends a chunk to a reply of unknown length. Returns false if the socket is full and the rest is buffered. */
  write(chunk: string | Uint8Array): boolean;
  /** Writes as much as the socket accepts. Returns `[all written, reply finished]`. `onWritable` passes the offset to continue at. */
  tryEnd(bodyFromOffset: Uint8Array, totalBytes: number): [boolean, boolean];
  end(body?: string | Uint8Array, closeConnection?: boolean): unknown;
  /** Ends the reply without a `Content-Length`, or with one that `writeHeader` has written. */
  endWithoutBody(): unknown;
  /** Closes the connection. Runs `onAborted` if the reply has not ended. */
  close(): unknown;
  onWritable(handler: (offset: number) => boolean): unknown;
  onAborted(handler: () => void): unknown;
  /** The memory of a chunk is valid only during the call. Without a body, runs once with an empty last chunk. */
  onData(handler: (chunk: ArrayBuffer | Uint8Array, isLast: boolean) => void): unknown;
  /** Sends the writes of the callback in one packet where possible. */
  cork(write: () => void): unknown;
  /** Stops all events of the socket, `onAborted` included. */
  pause(): void;
  /** Call only after `pause`. Restarts the timeout of 10 s for the rest of the body. */
  resume(): void;
}

export type RequestHandler = (res: TransportResponse, req: TransportRequest) => void;

/** One listener of one thread. */
export interface Transport {
  /**
   * Resolves to the port. For port 0 the system chooses one. `shared`: other listeners may use the same
   * port, and the system (Linux) distributes the connections among them.
   * @throws Error with one sentence that says why the address is unusable
   */
  listen(host: string, port: number, shared: boolean): Promise<number>;
  /** Refuses new connections. Open ones stay. */
  stopListening(): void;
  /** Closes all connections and stops listening. */
  close(): void;
  /**
   * Reads the certificate and its key again, for new connections. Does nothing without TLS.
   * @throws Error with one sentence if they are unusable; the former ones stay in use
   */
  reloadTls(): Promise<void>;
}

/** A certificate chain and its key, PEM. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}
