import type { CompactOptions, Engine } from "../engine/index.js";
import type { JobKind } from "./jobs.js";
import { withTask } from "./task.js";
import { withoutNulls } from "./without-nulls.js";

/** Compacts a table and optimizes its indexes, as far as either is due. */
export const maintenance = (engine: Engine, storageOptions: Record<string, string>): JobKind => ({
  kind: "maintenance",
  async run({ table, signal, onProgress }) {
    const target = engine.table(table.location, { ...storageOptions, ...table.storageOptions });
    const { compactBelow } = await target.maintenanceDue();
    const options = withoutNulls<CompactOptions>({ below: compactBelow });
    const compacted =
      compactBelow === undefined
        ? undefined
        : await withTask(signal, (task) => target.compact(options, task, onProgress));
    signal.throwIfAborted();
    const optimized = await withTask(signal, (task) => target.catchUp(task, onProgress));
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
