import type { Engine } from "../engine/index.js";
import type { JobKind } from "./jobs.js";
import { withTask } from "./task.js";

/**
 * Builds the index that `spec` describes: the body of a CreateTableIndex request. `storageOptions` are those of the
 * root; a table's options are added to them.
 */
export const indexBuild = (engine: Engine, storageOptions: Record<string, string>): JobKind => ({
  kind: "index_build",
  async run({ job, table, spec, signal, onProgress }) {
    const { branch } = JSON.parse(spec) as { branch?: string };
    const target = engine
      .table(table.location, { ...storageOptions, ...table.storageOptions })
      .onBranch(branch)
      // An earlier run that was stopped during its commit may have built the index.
      .forRequest(job.id, job.createdMillis);
    await withTask(signal, (task) => target.createIndex(spec, task, onProgress));
    return {};
  },
});
