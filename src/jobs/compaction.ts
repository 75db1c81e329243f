import type { CompactOptions, Engine } from "../engine/index.js";
import type { JobKind } from "./jobs.js";
import { withTask } from "./task.js";
import { withoutNulls } from "./without-nulls.js";

/** Requests for the same work have equal specs. */
export interface CompactionSpec {
  branch?: string;
  target_rows_per_fragment?: number;
  materialize_deletions_threshold?: number;
  concurrency?: number;
}

/** Merges small fragments and removes deleted rows, in one version. */
export const compaction = (engine: Engine, storageOptions: Record<string, string>): JobKind => ({
  kind: "compaction",
  async run({ table, spec, signal, onProgress }) {
    const request = JSON.parse(spec) as CompactionSpec;
    const options = withoutNulls<CompactOptions>({
      targetRowsPerFragment: request.target_rows_per_fragment,
      deletionThreshold: request.materialize_deletions_threshold,
      concurrency: request.concurrency,
    });
    const target = engine
      .table(table.location, { ...storageOptions, ...table.storageOptions })
      .onBranch(request.branch);
    const done = await withTask(signal, (task) => target.compact(options, task, onProgress));
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
