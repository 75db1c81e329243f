import type { Engine } from "../engine/index.js";
import type { Executor } from "./executor.js";
import type { JobKind } from "./jobs.js";
import { onWorkers } from "./on-workers.js";
import { withTask } from "./task.js";

/** How jobs of this kind run. */
export interface IndexBuildDependencies {
  readonly engine: Engine;
  /** Of the root; a table's options are added to them. */
  readonly storageOptions: Record<string, string>;
  /** Runs workers that build segments of large indexes. Without it the engine builds all indexes. */
  readonly executor?: Executor | undefined;
}

/** Builds the index that `spec` describes: the body of a CreateTableIndex request. */
export const indexBuild = ({
  engine,
  storageOptions,
  executor,
}: IndexBuildDependencies): JobKind => ({
  kind: "index_build",
  async run({ job, table, spec, signal, onProgress }) {
    const { branch } = JSON.parse(spec) as { branch?: string };
    const { location } = table;
    const options = { ...storageOptions, ...table.storageOptions };
    const remote = { id: job.id, location, storageOptions: options };
    const target = engine
      .table(table.location, remote.storageOptions)
      .onBranch(branch)
      // An earlier run that was stopped during its commit may have built the index.
      .forRequest(job.id, job.createdMillis);
    const { remoteSegments } = await onWorkers(executor, remote, signal, (work) =>
      withTask(signal, (task) => target.buildIndex(spec, task, onProgress, work)),
    );
    return remoteSegments > 0 ? { result: { remote_segments: remoteSegments } } : {};
  },
});
