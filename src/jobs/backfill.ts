import type { BackfillOptions, Engine } from "../engine/index.js";
import { given } from "./given.js";
import type { JobKind } from "./jobs.js";
import { withTask } from "./task.js";

/** What is filled; equal wishes are equal specs. */
export interface BackfillSpec {
  column: string;
  branch?: string;
  where?: string;
  read_version?: number;
  concurrency?: number;
  num_frags?: number;
}

/** The engine's form of a spec. */
export const backfillOptions = (spec: BackfillSpec): BackfillOptions =>
  given<BackfillOptions>({
    column: spec.column,
    predicate: spec.where,
    readVersion: spec.read_version,
    concurrency: spec.concurrency,
    maxFragments: spec.num_frags,
  });

/** Gives the rows of a computed column their values, in one version. One that is stopped begins anew. */
export const backfill = (engine: Engine, storageOptions: Record<string, string>): JobKind => ({
  kind: "backfill",
  async run({ table, spec, signal, onProgress }) {
    const wanted = JSON.parse(spec) as BackfillSpec;
    const target = engine
      .table(table.location, { ...storageOptions, ...table.storageOptions })
      .onBranch(wanted.branch);
    const done = await withTask(signal, (task) =>
      target.backfill(backfillOptions(wanted), task, onProgress),
    );
    return {
      result: given({
        rows_assigned: done.rowsAssigned,
        rows_failed: done.rowsFailed,
        rows_remaining: done.rowsRemaining,
        source_version: done.sourceVersion,
        published_version: done.publishedVersion,
      }),
      ...(done.rowsFailed > 0 && {
        errors: {
          column: wanted.column,
          version: done.sourceVersion,
          rows: done.failures,
          fragments: done.failedFragments,
        },
      }),
    };
  },
});
