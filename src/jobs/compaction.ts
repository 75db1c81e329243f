import type { CompactOptions, CompactResult, Engine, Table } from "../engine/index.js";
import type { Executor, RemoteJob } from "./executor.js";
import type { JobKind, JobRun } from "./jobs.js";
import { onWorkers } from "./on-workers.js";
import { withTask } from "./task.js";
import { withoutNulls } from "./without-nulls.js";

/** Requests for the same work have equal specs. */
export interface CompactionSpec {
  branch?: string;
  target_rows_per_fragment?: number;
  materialize_deletions_threshold?: number;
  concurrency?: number;
}

/** How jobs with a compaction run. */
export interface CompactionDependencies {
  readonly engine: Engine;
  readonly storageOptions: Record<string, string>;
  /** Runs workers that rewrite large groups of fragments. Without it the engine does. */
  readonly executor?: Executor | undefined;
}

/** Compacts a table, on workers if it is worth it. */
export function compact(
  target: Table,
  options: CompactOptions,
  executor: Executor | undefined,
  { signal, onProgress }: Pick<JobRun, "signal" | "onProgress">,
  job: Omit<RemoteJob, "work">,
): Promise<CompactResult> {
  return onWorkers(executor, job, signal, (work) =>
    withTask(signal, (task) => target.compact(options, task, onProgress, work)),
  );
}

/** Merges small fragments and removes deleted rows, in one version. */
export const compaction = ({
  engine,
  storageOptions,
  executor,
}: CompactionDependencies): JobKind => ({
  kind: "compaction",
  async run(run) {
    const { job, table } = run;
    const request = JSON.parse(run.spec) as CompactionSpec;
    const options = withoutNulls<CompactOptions>({
      targetRowsPerFragment: request.target_rows_per_fragment,
      deletionThreshold: request.materialize_deletions_threshold,
      concurrency: request.concurrency,
    });
    const { id, createdMillis } = job;
    const storage = { ...storageOptions, ...table.storageOptions };
    const { location } = table;
    const remote = { id, createdMillis, location, storageOptions: storage };
    const target = engine.table(table.location, remote.storageOptions).onBranch(request.branch);
    const done = await compact(target, options, executor, run, remote);
    return {
      result: withoutNulls({
        source_version: done.sourceVersion,
        published_version: done.publishedVersion,
        fragments_removed: done.fragmentsRemoved,
        fragments_added: done.fragmentsAdded,
        files_removed: done.filesRemoved,
        files_added: done.filesAdded,
      }),
    };
  },
});
