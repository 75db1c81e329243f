import type { VersionCleanUps } from "../cluster/version-clean-ups.js";
import type { CompactOptions, Engine } from "../engine/index.js";
import type { MultipartWrites } from "../multipart/multipart.js";
import { given } from "./given.js";
import { CLEAN_UP, type JobKind } from "./jobs.js";
import { withTask } from "./task.js";

/** Puts small fragments together and lets indexes cover new rows, as far as either is due. */
export const maintenance = (engine: Engine, storageOptions: Record<string, string>): JobKind => ({
  kind: "maintenance",
  async run({ table, signal, onProgress }) {
    const target = engine.table(table.location, { ...storageOptions, ...table.storageOptions });
    const { compactBelow } = await target.upkeep();
    const options = given<CompactOptions>({ below: compactBelow });
    const compacted =
      compactBelow === undefined
        ? undefined
        : await withTask(signal, (task) => target.compact(options, task, onProgress));
    signal.throwIfAborted();
    const caughtUp = await withTask(signal, (task) => target.catchUp(task, onProgress));
    return {
      result: given({
        published_version: caughtUp.publishedVersion ?? compacted?.publishedVersion,
        fragments_removed: compacted?.fragmentsRemoved,
        fragments_added: compacted?.fragmentsAdded,
        indexes: caughtUp.indexes,
      }),
    };
  },
});

/** What is cleaned up. */
export interface CleanUpSpec {
  /** Versions older than this go, ms. */
  age_ms: number;
}

/** What a clean-up did. */
export interface CleanUpResult {
  versions_removed: number;
  bytes_removed: number;
  /** Versions that are old enough and stayed, because somebody read them or made something of them. */
  versions_in_use?: number;
}

/** Who knows of versions that are still needed. */
export interface CleanUpDependencies {
  readonly multipart: Pick<MultipartWrites, "oldestVersion">;
  readonly versionCleanUps: Pick<VersionCleanUps, "agreed">;
}

/**
 * Removes old versions and the files that only they name. A version that the parts of an open upload
 * are written against stays, with all that came after it.
 */
export const cleanUp = (
  engine: Engine,
  storageOptions: Record<string, string>,
  { multipart, versionCleanUps }: CleanUpDependencies,
): JobKind => ({
  kind: CLEAN_UP,
  async run({ table, spec, signal }) {
    const { age_ms } = JSON.parse(spec) as CleanUpSpec;
    const target = engine.table(table.location, { ...storageOptions, ...table.storageOptions });
    const below = await multipart.oldestVersion(table.key);
    const planned = await withTask(signal, (task) => target.planCleanUp(age_ms, below, task));
    try {
      const wanted = { table: table.key, versions: planned.versions };
      const { versions, bytes, inUse } = await versionCleanUps.agreed(wanted, signal, (kept) =>
        withTask(signal, (task) => planned.run(kept, task)),
      );
      const result: CleanUpResult = { versions_removed: versions, bytes_removed: bytes };
      return { result: { ...result, ...(inUse > 0 && { versions_in_use: inUse }) } };
    } finally {
      planned.end();
    }
  },
});
