import type { BackfillOptions, Engine, RemoteWork, Since } from "../engine/index.js";
import type { Executor } from "./executor.js";
import type { JobKind } from "./jobs.js";
import { onWorkers } from "./on-workers.js";
import { withTask } from "./task.js";
import { withoutNulls } from "./without-nulls.js";

/** Requests for the same work have equal specs. */
export interface BackfillSpec {
  column: string;
  branch?: string;
  where?: string;
  read_version?: number;
  concurrency?: number;
  num_frags?: number;
  /** Bounds of the rows of a call of a function. */
  min_batch_rows?: number;
  max_batch_rows?: number;
  /** An earlier backfill of all rows: only fragments that have changed since are computed. */
  changed_since?: Since;
}

/** The options of the engine for a spec. */
export const backfillOptions = (spec: BackfillSpec): BackfillOptions =>
  withoutNulls<BackfillOptions>({
    column: spec.column,
    predicate: spec.where,
    readVersion: spec.read_version,
    concurrency: spec.concurrency,
    maxFragments: spec.num_frags,
    minBatchRows: spec.min_batch_rows,
    maxBatchRows: spec.max_batch_rows,
    changedSince: spec.changed_since,
  });

/** How jobs of this kind run. */
export interface BackfillDependencies {
  readonly engine: Engine;
  readonly storageOptions: Record<string, string>;
  /** Runs workers that call functions. Without it the engine calls them. */
  readonly executor?: Executor | undefined;
}

/**
 * Computes the missing values of a computed column and commits them as one version. A stopped job starts anew; with a
 * function, it continues with the fragments that it had computed.
 */
export const backfill = ({ engine, storageOptions, executor }: BackfillDependencies): JobKind => ({
  kind: "backfill",
  async run({ job, table, spec, signal, onProgress }) {
    const request = JSON.parse(spec) as BackfillSpec;
    const options = { ...storageOptions, ...table.storageOptions };
    const target = engine.table(table.location, options).onBranch(request.branch);
    const compute = (work?: RemoteWork) =>
      withTask(signal, (task) =>
        target.backfill({ ...backfillOptions(request), job: job.id }, task, onProgress, work),
      );
    const { id, createdMillis } = job;
    const { location } = table;
    const remote = { id, createdMillis, location, storageOptions: options };
    const done = await onWorkers(executor, remote, signal, compute);
    return {
      result: withoutNulls({
        rows_assigned: done.rowsAssigned,
        rows_failed: done.rowsFailed,
        rows_remaining: done.rowsRemaining,
        source_version: done.sourceVersion,
        published_version: done.publishedVersion,
      }),
      ...(done.rowsFailed > 0 && {
        errors: {
          column: request.column,
          ...(done.function && { function: done.function }),
          version: done.sourceVersion,
          rows: done.failures,
          fragments: done.failedFragments,
        },
      }),
    };
  },
  async discard({ job, table, spec }) {
    const { branch } = JSON.parse(spec) as BackfillSpec;
    const options = { ...storageOptions, ...table.storageOptions };
    await engine.table(table.location, options).onBranch(branch).discardCheckpoint(job.id);
  },
});
