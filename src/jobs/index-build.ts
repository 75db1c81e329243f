import { type Engine, Task } from "../engine/index.js";
import type { JobKind } from "./jobs.js";

/**
 * Builds the index that `spec`, a body of CreateTableIndex, asks for, on its branch. `storageOptions` is what
 * reaching the root needs; a table's own options come on top.
 */
export const indexBuild = (engine: Engine, storageOptions: Record<string, string>): JobKind => ({
  kind: "index_build",
  async run({ table, spec, signal, onProgress }) {
    const task = new Task();
    const cancel = () => task.cancel();
    signal.addEventListener("abort", cancel);
    try {
      const { branch } = JSON.parse(spec) as { branch?: string };
      await engine
        .table(table.location, { ...storageOptions, ...table.storageOptions })
        .onBranch(branch)
        .createIndex(spec, task, ({ stage, completed, total }) =>
          onProgress({ stage, completed, ...(total !== undefined && { total }) }),
        );
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  },
});
