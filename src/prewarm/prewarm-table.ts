import type { Prewarmed } from "../engine/index.js";
import { onTable, type TableDependencies } from "../tables/open-table.js";
import { branchName, onBranch } from "../tables/target.js";
import type { Logger } from "../telemetry/logger.js";
import type { PrewarmQueue } from "./prewarm-queue.js";

export interface PrewarmDependencies extends TableDependencies {
  readonly prewarming: PrewarmQueue;
}

/**
 * Loads the indexes and columns of a table, as far as they fit into memory.
 *
 * @throws code 1, 4 or 22 when the table or the branch does not exist
 */
export function prewarmTable(
  services: PrewarmDependencies,
  id: readonly string[],
  branch?: string,
): Promise<Prewarmed> {
  return onTable(services, id, ({ record, table }) => {
    const target = onBranch(table, branch);
    const key = JSON.stringify([record.key, branchName(branch), "table"]);
    return services.prewarming.enqueue(key, () => target.prewarm());
  });
}

/** Loads tables one after the other. Logs those that cannot be loaded. */
export async function prewarmTables(
  services: PrewarmDependencies & { readonly log: Logger },
  ids: readonly (readonly string[])[],
): Promise<void> {
  const { log } = services;
  for (const id of ids) {
    const table = id.join("$");
    const started = performance.now();
    try {
      const { version, indexes, columns } = await prewarmTable(services, id);
      const ms = Math.round(performance.now() - started);
      log.info({ table, version, indexes, columns, ms }, "prewarmed a table");
    } catch (err) {
      log.warn({ err, table }, "a table could not be prewarmed");
    }
  }
}
