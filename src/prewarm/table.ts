import type { Prewarmed } from "../engine/index.js";
import { type Opening, onTable } from "../tables/open-table.js";
import { branchName, onBranch } from "../tables/target.js";
import type { Logger } from "../telemetry/logger.js";
import type { Prewarming } from "./prewarming.js";

/** What prewarming takes. */
export interface PrewarmDependencies extends Opening {
  readonly prewarming: Prewarming;
}

/** Loads a table's indexes and columns in its turn, as far as they fit. @throws code 1, 4 or 22 when it is not there */
export function prewarmTable(
  services: PrewarmDependencies,
  id: readonly string[],
  branch?: string,
): Promise<Prewarmed> {
  return onTable(services, id, ({ record, table }) => {
    const target = onBranch(table, branch);
    const key = JSON.stringify([record.key, branchName(branch), "table"]);
    return services.prewarming.inTurn(key, () => target.prewarm());
  });
}

/** Loads the tables that were named at the start. One that can't be loaded is told of and left. */
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
