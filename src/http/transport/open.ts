import { NodeTransport } from "./node/transport.js";
import type { RequestHandler, TlsFiles, Transport } from "./transport.js";
import { allBuilds, automaticBuilds, loadUws } from "./uws/load.js";
import { UwsTransport } from "./uws/transport.js";

/** The values of `--http`. */
export type TransportChoice = "auto" | "uws" | "node";

/** A transport that is not open yet. */
export interface TransportKind {
  /** For the log: `uWebSockets.js 20.57`. */
  readonly name: string;
  /** Why the server uses this transport. */
  readonly reason: string;
  /** @throws Error with one sentence if the certificate is unusable */
  open(handle: RequestHandler, tls?: TlsFiles): Transport;
}

/**
 * Chooses the transport. `auto` is uWebSockets.js if a build that answers every request loads, else
 * Node's `http`.
 * @throws Error with one sentence if this host does not support the choice
 */
export function transportOf(choice: TransportChoice): TransportKind {
  if (choice === "node") return nodeTransport("--http node");
  try {
    const { name, uws } = loadUws(choice === "uws" ? allBuilds : automaticBuilds);
    const reason = choice === "uws" ? "--http uws" : "the newest build; it loads on this host";
    return { name, reason, open: (handle, tls) => new UwsTransport(uws, handle, tls) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (choice === "auto") return nodeTransport(reason);
    throw new Error(`--http uws: ${reason}; use --http auto or --http node`);
  }
}

const nodeTransport = (reason: string): TransportKind => ({
  name: `Node ${process.versions.node}`,
  reason,
  open: (handle, tls) => new NodeTransport(handle, tls),
});
