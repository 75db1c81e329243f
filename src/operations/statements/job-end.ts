import { setTimeout as delay } from "node:timers/promises";
import { ErrorCode, JoustError } from "../../foundation/errors.js";
import type { Jobs } from "../../jobs/jobs.js";

/** Pauses between two looks at a job, ms: the first, and the longest. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 500;

/**
 * Waits until a job has ended. If the client disconnects, the wait ends and the job continues.
 *
 * @throws the error of a job that failed, code 14 for a job that was cancelled
 */
export async function waitForJob(
  jobs: Pick<Jobs, "describe">,
  id: string,
  onAbort: (work: () => void) => void,
): Promise<void> {
  const abort = new AbortController();
  onAbort(() => abort.abort());
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    const { state, error } = await jobs.describe(id);
    if (state === "DONE") return;
    if (state === "FAILED") {
      throw new JoustError(
        error?.code ?? ErrorCode.Internal,
        error?.message ?? "the job failed: the server's log has the reason",
      );
    }
    if (state === "CANCELLED") {
      throw new JoustError(ErrorCode.ConcurrentModification, `the job ${id} was cancelled`);
    }
    if (abort.signal.aborted) {
      throw new JoustError(
        ErrorCode.ServiceUnavailable,
        `the client has closed the connection; the job ${id} continues`,
      );
    }
    await delay(pause, undefined, { signal: abort.signal }).catch(() => {});
  }
}
