import { NodeTransport } from "./node/transport.js";
import type { RequestHandler, TlsFiles, Transport } from "./transport.js";
import { loadUws } from "./uws/load.js";
import { UwsTransport } from "./uws/transport.js";

/** What `--http` takes. */
export type TransportChoice = "auto" | "uws" | "node";

export interface OpenTransport {
  readonly transport: Transport;
  /** For the log: `uWebSockets.js 20.57`. */
  readonly name: string;
  /** Why it is this one. */
  readonly reason: string;
}

/**
 * Opens the transport of a choice: `auto` takes uWebSockets.js where a build loads, else Node's `http`.
 * @throws Error with one sentence when the choice cannot be had.
 */
export function openTransport(
  choice: TransportChoice,
  handle: RequestHandler,
  tls?: TlsFiles,
): OpenTransport {
  if (choice === "node") return nodeTransport(handle, tls, "--http node");
  let loaded: ReturnType<typeof loadUws>;
  try {
    loaded = loadUws();
  } catch (error) {
    if (choice === "uws") throw new Error(`--http uws: ${message(error)}; use --http auto or node`);
    return nodeTransport(handle, tls, message(error));
  }
  return {
    transport: new UwsTransport(loaded.uws, handle, tls),
    name: loaded.name,
    reason: choice === "uws" ? "--http uws" : "the newest build that loads on this host",
  };
}

const nodeTransport = (
  handle: RequestHandler,
  tls: TlsFiles | undefined,
  reason: string,
): OpenTransport => ({
  transport: new NodeTransport(handle, tls),
  name: `Node ${process.versions.node} ${tls ? "https" : "http"}`,
  reason,
});

const message = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
