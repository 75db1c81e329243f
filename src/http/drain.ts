import { setTimeout as delay } from "node:timers/promises";

/** A server, here or in another thread, that can be brought to its end. */
export interface Draining {
  /** Takes no new connections, and announces the end of those that are open. */
  beginDrain(): Promise<void> | void;
  /** Nothing is in flight, and nothing has come for a moment. */
  isQuiet(): Promise<boolean> | boolean;
  /** Cuts off what is left; true when there was nothing. */
  cut(): Promise<boolean> | boolean;
}

const LOOK_EVERY = 20;

/**
 * Answers what is in flight and what still comes over open connections, and resolves when all servers
 * are quiet at one time: true, or false when `timeout` (ms) was over first and the rest was cut off.
 */
export async function drain(servers: readonly Draining[], timeout: number): Promise<boolean> {
  const giveUp = performance.now() + timeout;
  const all = <T>(ask: (server: Draining) => T) => Promise.all(servers.map(ask));
  await all((server) => server.beginDrain());
  while (performance.now() < giveUp) {
    const quiet = await all((server) => server.isQuiet());
    if (quiet.every(Boolean)) break;
    await delay(LOOK_EVERY);
  }
  const clean = await all((server) => server.cut());
  return clean.every(Boolean);
}
