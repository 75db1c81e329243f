/**
 * What joust needs of an HTTP library. `uws/` implements it with uWebSockets.js, `node/` with Node's own
 * `http` and `https`. Nothing outside of this folder knows which of them runs.
 */

/** Valid only until the request handler returns. */
export interface TransportRequest {
  /** The path as sent: not percent-decoded. */
  getUrl(): string;
  /** Lower case. */
  getMethod(): string;
  /** Without the `?`; undefined or empty when there is none. */
  getQuery(): string | undefined;
  /** Header names come in lower case; a header that was sent twice is visited twice. */
  forEach(visit: (name: string, value: string) => void): void;
}

/** No call after `onAborted` or after the end of the answer has a defined effect. */
export interface TransportResponse {
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  /** Appends a chunk of unknown total; false when the socket is full and the rest was buffered. */
  write(chunk: string | Uint8Array): boolean;
  /** Writes what the socket takes; `[all written, answer finished]`. Go on at `onWritable`'s offset. */
  tryEnd(bodyFromOffset: Uint8Array, totalBytes: number): [boolean, boolean];
  end(body?: string | Uint8Array, closeConnection?: boolean): unknown;
  /** Ends without `Content-Length`, or with the one that was written as a header. */
  endWithoutBody(): unknown;
  /** Drops the connection; runs `onAborted` when the answer has not ended. */
  close(): unknown;
  onWritable(handler: (offset: number) => boolean): unknown;
  onAborted(handler: () => void): unknown;
  /** The chunk's memory is valid during the call only. Runs once with an empty last chunk when there is no body. */
  onData(handler: (chunk: ArrayBuffer | Uint8Array, isLast: boolean) => void): unknown;
  /** Writes of the callback leave together where possible. */
  cork(write: () => void): unknown;
  /** Stops all events of the socket, `onAborted` included. */
  pause(): void;
  /** Only after `pause`. Starts the limit of 10 s for the rest of the body again. */
  resume(): void;
}

export type RequestHandler = (res: TransportResponse, req: TransportRequest) => void;

/** One listener of one thread. */
export interface Transport {
  /**
   * Resolves to the port, which the system chooses when it is given as 0. `shared`: other listeners
   * may use the same port, and the system (Linux) distributes the connections among them.
   * @throws Error with one sentence that says why the address cannot be used.
   */
  listen(host: string, port: number, shared: boolean): Promise<number>;
  /** Takes no new connections; open ones stay. */
  stopListening(): void;
  /** Closes all connections, and stops listening. */
  close(): void;
  /**
   * Reads the certificate and its key again, for new connections. Nothing to do without TLS.
   * @throws Error with one sentence when they cannot be used; the former ones stay in use.
   */
  reloadTls(): Promise<void>;
}

/** A certificate chain and its key, PEM. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}
