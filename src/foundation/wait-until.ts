import { setTimeout as delay } from "node:timers/promises";

export interface WaitOptions {
  /** Time between two checks, ms. A function returns it for each pause, for random pauses. */
  readonly interval: number | (() => number);
  /** ms from the call on. */
  readonly timeout: number;
  readonly timeoutError: () => Error;
  /** Ends the wait with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/**
 * Calls `isMet` again and again until it returns true. After the timeout one more check decides: a process that
 * was stopped for longer than the timeout still sees a condition that was met meanwhile.
 */
export async function waitUntil(
  isMet: () => Promise<boolean>,
  { interval, timeout, timeoutError, signal }: WaitOptions,
): Promise<void> {
  const deadline = performance.now() + timeout;
  for (;;) {
    signal?.throwIfAborted();
    const isLast = performance.now() >= deadline;
    if (await isMet()) return;
    if (isLast) throw timeoutError();
    const pause = typeof interval === "number" ? interval : interval();
    // An abort ends the pause early; the loop then throws the reason.
    await delay(pause, undefined, signal && { signal }).catch(() => {});
  }
}
