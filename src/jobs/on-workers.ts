import { RemoteWork } from "../engine/index.js";
import type { Executor, RemoteJob } from "./executor.js";

/** Runs `work`, and meanwhile the workers that it needs. Without an executor the engine does everything. */
export async function onWorkers<T>(
  executor: Executor | undefined,
  job: Omit<RemoteJob, "work">,
  signal: AbortSignal,
  work: (remote?: RemoteWork) => Promise<T>,
): Promise<T> {
  if (!executor) return work();
  const remote = new RemoteWork(executor.minBytes, job.createdMillis);
  const ended = new AbortController();
  const workers = executor.run({ ...job, work: remote }, AbortSignal.any([signal, ended.signal]));
  try {
    return await work(remote);
  } finally {
    ended.abort();
    await workers;
  }
}
