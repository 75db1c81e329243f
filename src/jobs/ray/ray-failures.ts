/** What a failure of Ray means for a job. */
import { RayError, type RayJob } from "./jobs-api.js";

/** Characters of the log of a failed job in its message. */
const MAX_QUOTED = 300;

/** The job of Ray ended before its work. */
export function endedEarly({ submission_id, status, message }: RayJob): RayError {
  const quoted = message?.trim().slice(-MAX_QUOTED);
  return new RayError(
    `the Ray job ${submission_id} ended before its work was done (${status}${quoted ? `: ${quoted}` : ""}): look at its log with \`ray job logs ${submission_id}\`, and start the job again`,
    false,
  );
}

/** The head was restarted. */
export const forgotten = (address: string): RayError =>
  new RayError(
    `Ray at ${address} does not know the job any more, because its head was restarted: start the job again`,
    false,
  );

/** Why a job has failed, and what to do. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof RayError)) return `the workers on Ray have failed: ${error}`;
  if (!error.isTransient) return error.message;
  return `${error.message}: check that the Ray head runs and that --ray-address names it, and start the job again`;
}
