import { vi } from "vitest";

/**
 * Repeats `attempt` until it returns something other than undefined or false, and returns that value.
 * If time runs out, the error names `what`; its cause is the error of the last attempt.
 */
export async function waitFor<T>(
  what: string,
  attempt: () => Promise<T | undefined | false> | T | undefined | false,
  { timeoutMs = 20_000, intervalMs = 50 } = {},
): Promise<T> {
  const check = async (): Promise<T> => {
    const value = await attempt();
    if (value === undefined || value === false) throw new Error(`the last result was ${value}`);
    return value;
  };
  try {
    return await vi.waitFor(check, { timeout: timeoutMs, interval: intervalMs });
  } catch (error) {
    throw new Error(`${what}: not within ${timeoutMs} ms`, { cause: error });
  }
}
