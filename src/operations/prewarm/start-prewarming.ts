import type { Services } from "../../api/services.js";

/** Starts work that the client does not wait for. */
export function startPrewarming(
  { prewarming, log }: Pick<Services, "log" | "prewarming">,
  key: string,
  work: () => Promise<void>,
): void {
  prewarming
    .enqueue(key, work)
    // The table may have been dropped after the reply.
    .catch((err: unknown) => log.info({ err }, "prewarming ended early"));
}
