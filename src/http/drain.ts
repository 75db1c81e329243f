import { setTimeout as delay } from "node:timers/promises";

/** A server, in this thread or another one, that can be drained. */
export interface Drainable {
  /** Refuses new connections, and asks the clients of open ones to close them. */
  beginDrain(): Promise<void> | void;
  /** True if no request is in flight and none has arrived for a moment. */
  isIdle(): Promise<boolean> | boolean;
  /** Closes all connections. Returns true if no request was in flight. */
  closeConnections(): Promise<boolean> | boolean;
}

/** ms */
const POLL_INTERVAL = 20;

/**
 * Finishes the requests in flight and those that still arrive over open connections. Resolves to true
 * when all servers are idle at one time. After `timeout` (ms) it closes all connections and resolves
 * to false if requests were still in flight.
 */
export async function drain(servers: readonly Drainable[], timeout: number): Promise<boolean> {
  const deadline = performance.now() + timeout;
  const all = <T>(call: (server: Drainable) => T) => Promise.all(servers.map(call));
  await all((server) => server.beginDrain());
  while (performance.now() < deadline) {
    const idle = await all((server) => server.isIdle());
    if (idle.every(Boolean)) break;
    await delay(POLL_INTERVAL);
  }
  const clean = await all((server) => server.closeConnections());
  return clean.every(Boolean);
}
