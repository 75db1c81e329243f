import type { CompactOptions, Engine } from "../engine/index.js";
import { given } from "./given.js";
import type { JobKind } from "./jobs.js";
import { withTask } from "./task.js";

/** How to compact; equal wishes are equal specs. */
export interface CompactionSpec {
  branch?: string;
  target_rows_per_fragment?: number;
  materialize_deletions_threshold?: number;
  concurrency?: number;
}

/** Puts a table's small fragments together and takes deleted rows out, in one version. */
export const compaction = (engine: Engine, storageOptions: Record<string, string>): JobKind => ({
  kind: "compaction",
  async run({ table, spec, signal, onProgress }) {
    const wanted = JSON.parse(spec) as CompactionSpec;
    const options = given<CompactOptions>({
      targetRowsPerFragment: wanted.target_rows_per_fragment,
      deletionThreshold: wanted.materialize_deletions_threshold,
      concurrency: wanted.concurrency,
    });
    const target = engine
      .table(table.location, { ...storageOptions, ...table.storageOptions })
      .onBranch(wanted.branch);
    const done = await withTask(signal, (task) => target.compact(options, task, onProgress));
    return {
      result: given({
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
