import type { Services } from "../../api/services.js";

/** The client does not wait. */
export function begin(
  { prewarming, log }: Pick<Services, "log" | "prewarming">,
  key: string,
  work: () => Promise<void>,
): void {
  prewarming
    .inTurn(key, work)
    // The table may have been dropped meanwhile.
    .catch((err: unknown) => log.info({ err }, "prewarming ended early"));
}
