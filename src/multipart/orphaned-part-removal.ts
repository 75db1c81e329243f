import type { Catalog } from "../catalog/catalog.js";
import { ErrorCode, hasCode } from "../foundation/errors.js";
import { startPolling } from "../foundation/poll-loop.js";
import { type TableDependencies, tableHandle } from "../tables/open-table.js";
import { onBranch } from "../tables/target.js";
import type { Logger } from "../telemetry/logger.js";
import type { MultipartWrites, OrphanedParts } from "./multipart.js";

interface PartRemovalDependencies extends TableDependencies {
  readonly catalog: TableDependencies["catalog"] & Pick<Catalog, "tableByKey">;
  readonly multipart: Pick<MultipartWrites, "committed" | "orphanedParts">;
  readonly log: Logger;
}

/** Time between two removals of orphaned parts, ms. */
const REMOVAL_INTERVAL = 15 * 60 * 1000;

/** Removes the files of parts that were not committed. Logs a failure; a later call repeats the removal. */
export async function removeOrphanedParts(
  services: PartRemovalDependencies,
  orphaned: OrphanedParts,
): Promise<void> {
  const { upload, parts } = orphaned;
  try {
    const record = await services.catalog.tableByKey(upload.table);
    // The removal of a dropped table includes these files.
    if (record === undefined) return;
    const table = onBranch(tableHandle(services, record), upload.branch);
    if (orphaned.maybeCommitted) {
      const commit = table.committedParts(upload.id, upload.version, parts);
      const version = await commit.catch((error) => {
        // The deletion of a branch included these files. When the outcome can no longer be determined, no version
        // references them, and the removal of unreferenced files includes them.
        if (hasCode(error, ErrorCode.TableBranchNotFound)) return undefined;
        if (hasCode(error, ErrorCode.ConcurrentModification)) return undefined;
        throw error;
      });
      if (version === undefined) return await orphaned.removed();
      if (version !== null) return await services.multipart.committed(upload.id, version);
      if (!(await orphaned.claim())) return;
    }
    await table.removeParts(parts);
    await orphaned.removed();
  } catch (err) {
    services.log.warn(
      { err, upload: upload.id },
      "files of an upload could not be removed and remain for now",
    );
  }
}

/** Removes orphaned parts now and then every 15 minutes. Returns a function that stops this. */
export function startOrphanedPartRemoval(services: PartRemovalDependencies): () => Promise<void> {
  const removeAll = async () => {
    for (const orphaned of await services.multipart.orphanedParts()) {
      await removeOrphanedParts(services, orphaned);
    }
  };
  return startPolling(
    REMOVAL_INTERVAL,
    removeAll,
    (err) => services.log.warn({ err }, "orphaned parts of uploads could not be listed"),
    { immediate: true },
  );
}
