import type { Catalog } from "../catalog/catalog.js";
import { ErrorCode, hasCode } from "../foundation/errors.js";
import { type Opening, tableHandle } from "../tables/open-table.js";
import { onBranch } from "../tables/target.js";
import type { Logger } from "../telemetry/logger.js";
import type { MultipartWrites, OrphanedParts } from "./multipart.js";

/** What the removal of parts takes. */
interface Removing extends Opening {
  readonly catalog: Opening["catalog"] & Pick<Catalog, "tableByKey">;
  readonly multipart: Pick<MultipartWrites, "committed" | "orphanedParts">;
  readonly log: Logger;
}

/** How often what was left behind is looked for, ms. */
const INTERVAL = 15 * 60 * 1000;

/** Removes the files of parts that were not committed. What fails is logged and left for later. */
export async function removeOrphanedParts(
  services: Removing,
  remains: OrphanedParts,
): Promise<void> {
  const { upload, parts } = remains;
  try {
    const record = await services.catalog.tableByKey(upload.table);
    // A table that was dropped takes these files with it.
    if (record === undefined) return;
    const table = onBranch(tableHandle(services, record), upload.branch);
    if (remains.doubtful) {
      const made = table.committedParts(upload.id, upload.version, parts);
      const version = await made.catch((error) => {
        // A branch that was deleted took these files with it. Where nobody can tell any more whether they
        // were committed, no version has them, and they go with others that none has.
        if (hasCode(error, ErrorCode.TableBranchNotFound)) return undefined;
        if (hasCode(error, ErrorCode.ConcurrentModification)) return undefined;
        throw error;
      });
      if (version === undefined) return await remains.removed();
      if (version !== null) return await services.multipart.committed(upload.id, version);
      if (!(await remains.claim())) return;
    }
    await table.removeParts(parts);
    await remains.removed();
  } catch (err) {
    services.log.warn({ err, upload: upload.id }, "files of an upload remain for now");
  }
}

/** Removes what was left behind, now and from time to time; gives back how to stop. */
export function watchOrphanedParts(services: Removing): () => Promise<void> {
  const clean = async () => {
    for (const remains of await services.multipart.orphanedParts())
      await removeOrphanedParts(services, remains);
  };
  const failed = (err: unknown) =>
    services.log.warn({ err }, "remains of uploads could not be looked for");
  let running = clean().catch(failed);
  const timer = setInterval(() => {
    running = running.then(clean).catch(failed);
  }, INTERVAL);
  timer.unref();
  return () => {
    clearInterval(timer);
    return running;
  };
}
