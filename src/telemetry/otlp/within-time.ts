import { setTimeout as delay } from "node:timers/promises";

/** How long the end of the process waits for the collector, ms. */
const STOP_TIMEOUT = 3_000;

/** Resolves with `work`, or after a few seconds. Never rejects: the SDK logs why an export failed. */
export async function withinTime(work: Promise<unknown>): Promise<void> {
  await Promise.race([work.catch(() => {}), delay(STOP_TIMEOUT, undefined, { ref: false })]);
}
