import { setTimeout as sleep } from "node:timers/promises";

/**
 * Repeats `attempt` until it returns something other than undefined or false, and returns that.
 * What it throws counts as "not yet"; the last error is part of the final one.
 */
export async function eventually<T>(
  what: string,
  attempt: () => Promise<T | undefined | false> | T | undefined | false,
  { timeoutMs = 20_000, intervalMs = 50 } = {},
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await attempt();
      if (value !== undefined && value !== false) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) {
      throw new Error(`${what}: not within ${timeoutMs} ms`, { cause: last });
    }
    await sleep(intervalMs);
  }
}
