import type { Client, Json } from "./client.js";
import { waitFor } from "./wait-for.js";

/** The description of a job in any final state. */
export function waitForJob(client: Client, job_id: string): Promise<Json> {
  return waitFor(
    `job ${job_id} ends`,
    async () => {
      const job = await client.ok("/v1/jobs/describe", { job_id });
      return ["DONE", "FAILED", "CANCELLED"].includes(job.job_state) && job;
    },
    { timeoutMs: 90_000, intervalMs: 50 },
  );
}

/** The result of a job, which must succeed. */
export async function waitForJobResult(client: Client, job_id: string): Promise<Json> {
  const job = await waitForJob(client, job_id);
  if (job.job_state === "DONE") return job.result;
  throw new Error(`job ${job_id} is ${job.job_state}: ${JSON.stringify(job.failure)}`);
}

/** A slow SQL expression: about half a microsecond per step and row. */
export function slowExpression(column: string, steps = 40): string {
  return `sha512(`.repeat(steps) + column + `)`.repeat(steps);
}

/**
 * A slow text: half a second per part for 20,000 rows of a text column, on one core. The parts differ, because equal ones
 * could be computed once.
 */
export function slowText(column: string, parts = 10): string {
  const part = (n: number) => `encode(${slowExpression(`concat(${column}, '${n}')`)}, 'hex')`;
  return `concat(${Array.from({ length: parts }, (_, n) => part(n)).join(", ")})`;
}
