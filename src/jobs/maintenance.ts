import type { CompactOptions } from "../engine/index.js";
import { type CompactionDependencies, compact } from "./compaction.js";
import type { JobKind } from "./jobs.js";
import { withTask } from "./task.js";
import { withoutNulls } from "./without-nulls.js";

/** Compacts a table and optimizes its indexes, as far as either is due. */
export const maintenance = ({
  engine,
  storageOptions,
  executor,
}: CompactionDependencies): JobKind => ({
  kind: "maintenance",
  async run(run) {
    const { job, table, signal, onProgress } = run;
    const { id, createdMillis } = job;
    const storage = { ...storageOptions, ...table.storageOptions };
    const { location } = table;
    const remote = { id, createdMillis, location, storageOptions: storage };
    const target = engine.table(table.location, remote.storageOptions);
    const { compactBelow } = await target.maintenanceDue();
    const options = withoutNulls<CompactOptions>({ below: compactBelow });
    const compacted =
      compactBelow === undefined
        ? undefined
        : await compact(target, options, executor, run, remote);
    signal.throwIfAborted();
    const optimized = await withTask(signal, (task) => target.optimizeIndices(task, onProgress));
    return {
      result: withoutNulls({
        published_version: optimized.publishedVersion ?? compacted?.publishedVersion,
        fragments_removed: compacted?.fragmentsRemoved,
        fragments_added: compacted?.fragmentsAdded,
        indexes: optimized.indexes,
      }),
    };
  },
});
