import type { Services } from "../api/services.js";
import type { MultipartWrites, OrphanedParts } from "../multipart/multipart.js";
import { removeOrphanedParts } from "../multipart/orphaned-part-removal.js";

/**
 * The multipart writes as worker threads call them. Orphaned parts have methods, which no message between threads
 * can carry, so the main thread removes the files and the worker thread receives undefined. `orphanedParts` is
 * absent: only the main thread calls it.
 */
export function workerMultipart(services: Services): Omit<MultipartWrites, "orphanedParts"> {
  const { multipart } = services;
  const remove = async (orphaned: OrphanedParts | undefined): Promise<undefined> => {
    if (orphaned) await removeOrphanedParts(services, orphaned);
  };
  return {
    begin: (upload) => multipart.begin(upload),
    open: (name) => multipart.open(name),
    recordPart: async (id, part) => remove(await multipart.recordPart(id, part)),
    replacesRows: (name) => multipart.replacesRows(name),
    complete: (name) => multipart.complete(name),
    committed: (id, version) => multipart.committed(id, version),
    abandon: async (name, state) => remove(await multipart.abandon(name, state)),
    endBranch: (table, branch, before) => multipart.endBranch(table, branch, before),
    oldestVersion: (table) => multipart.oldestVersion(table),
  };
}
