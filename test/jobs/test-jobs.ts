import { onTestFinished } from "vitest";
import { JoustError } from "../../src/foundation/errors.js";
import type { JobKind, JobProgress, JobRecord, Jobs } from "../../src/jobs/jobs.js";
import { type RunnerOptions, startJobs } from "../../src/jobs/runner.js";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { makeTable, quiet, type TestCatalog } from "../catalog/catalog-databases.js";
import { waitFor } from "../harness/wait-for.js";

export const rowErrors = {
  column: "c",
  version: 2,
  rows: [{ fragment: 0, offset: 7, message: "divide by zero" }],
  fragments: [{ fragment: 0, rows: 1 }],
};

/** Jobs whose spec names their outcome; "wait" runs until it is cancelled or `finish` is called. */
export class Work implements JobKind {
  readonly kind = "test";
  readonly ran: string[] = [];
  readonly active = new Map<string, () => void>();
  /** Jobs go on after they are cancelled. */
  ignoresCancel = false;
  mostActive = 0;
  progress: JobProgress[] = [];

  async run({ table, spec, signal, onProgress }: Parameters<JobKind["run"]>[0]) {
    const id = `${table.id.join("$")}:${spec}`;
    this.ran.push(id);
    for (const progress of this.progress) onProgress(progress);
    if (spec === "fail") throw new JoustError(12, 'column "x" does not exist');
    if (spec === "crash") throw new Error("/secret/path broke");
    if (spec === "tell") return { result: { rows: 3 }, errors: rowErrors };
    if (!spec.startsWith("wait")) return {};
    await new Promise<void>((resolve, reject) => {
      this.active.set(id, resolve);
      this.mostActive = Math.max(this.mostActive, this.active.size);
      signal.addEventListener("abort", () => this.ignoresCancel || reject(signal.reason));
    }).finally(() => this.active.delete(id));
    return {};
  }

  finish(id: string): void {
    this.active.get(id)?.();
  }
}

export function start(
  store: OpenCatalog,
  work: JobKind = new Work(),
  options: Pick<RunnerOptions, "cancelTimeoutMs"> = {},
): Jobs {
  const { jobs: queue, catalog } = store;
  const jobs = startJobs({ store: queue, catalog, kinds: [work], log: quiet, ...options });
  onTestFinished(() => jobs.stop());
  return jobs;
}

export const waitForState = (jobs: Jobs, id: string, state: JobRecord["state"]) =>
  waitFor(`job is ${state}`, async () => {
    const job = await jobs.describe(id);
    return job.state === state && job;
  });

export const settled = () => new Promise((resolve) => setTimeout(resolve, 100));

/** A catalog with the table `t`, opened by one server. */
export async function setUpJobs(newCatalog: () => TestCatalog) {
  const test = newCatalog();
  const store = await test.open();
  const table = await makeTable(store, ["t"]);
  const request = (spec: string, name = "i", key = table.key) => ({
    kind: "test",
    table: key,
    name,
    spec,
  });
  return { test, store, table, request };
}
