import type { VersionCleanUps } from "../cluster/version-clean-ups.js";
import type { Engine } from "../engine/index.js";
import type { MultipartWrites } from "../multipart/multipart.js";
import { type JobKind, VERSION_CLEAN_UP } from "./jobs.js";
import { withTask } from "./task.js";

export interface VersionCleanUpSpec {
  /** Versions older than this are removed, ms. */
  age_ms: number;
}

export interface VersionCleanUpResult {
  versions_removed: number;
  bytes_removed: number;
  /** Versions that are old enough but still in use: by a reader, a tag or a branch. */
  versions_in_use?: number;
}

export interface VersionCleanUpDependencies {
  readonly multipart: Pick<MultipartWrites, "oldestVersion">;
  readonly versionCleanUps: Pick<VersionCleanUps, "removeAgreed">;
}

/**
 * Removes old versions and the files that only they reference. The oldest version that parts of an open multipart
 * write are based on stays, with all later versions.
 */
export const versionCleanUp = (
  engine: Engine,
  storageOptions: Record<string, string>,
  { multipart, versionCleanUps }: VersionCleanUpDependencies,
): JobKind => ({
  kind: VERSION_CLEAN_UP,
  async run({ table, spec, signal }) {
    const { age_ms } = JSON.parse(spec) as VersionCleanUpSpec;
    const target = engine.table(table.location, { ...storageOptions, ...table.storageOptions });
    const below = await multipart.oldestVersion(table.key);
    const planned = await withTask(signal, (task) => target.planCleanUp(age_ms, below, task));
    try {
      const proposal = { table: table.key, versions: planned.versions };
      const { versions, bytes, inUse } = await versionCleanUps.removeAgreed(
        proposal,
        signal,
        (needed) => withTask(signal, (task) => planned.run(needed, task)),
      );
      const result: VersionCleanUpResult = { versions_removed: versions, bytes_removed: bytes };
      return { result: { ...result, ...(inUse > 0 && { versions_in_use: inUse }) } };
    } finally {
      planned.end();
    }
  },
});
