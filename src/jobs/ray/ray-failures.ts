/** What a failure of Ray means for a job. */
import { versions } from "../../engine/index.js";
import { RayError, type RayJob } from "./jobs-api.js";

/** Characters of the log of a failed job in its message. */
const MAX_QUOTED = 300;
/** Characters of a version that workers report. */
const MAX_VERSION = 40;

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

/** Why workers with these packages cannot work for this server, and what to do. Undefined if they can. */
export function versionMismatch(installed: Readonly<Record<string, string>>): string | undefined {
  const { engine, lance } = versions();
  const needed: Record<string, string> = { joust_worker: engine, lance };
  for (const [name, version] of Object.entries(needed)) {
    if (installed[name] === version) continue;
    const found = String(installed[name]).slice(0, MAX_VERSION);
    const remedy =
      name === "lance"
        ? `install pylance==${lance} on all nodes of the cluster`
        : "cancel the job, and start it again";
    return `the Ray cluster has ${name} ${found}, and this server needs ${version}: ${remedy}`;
  }
  return undefined;
}

/** Why a job has failed, and what to do. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof RayError)) return `the workers on Ray have failed: ${error}`;
  if (!error.isTransient) return error.message;
  return `${error.message}: check that the Ray head runs and that --ray-address names it, and start the job again`;
}
