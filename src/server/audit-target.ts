import type { Catalog } from "../catalog/catalog.js";
import type { Config } from "../config/config.js";
import type { Engine, Task } from "../engine/index.js";
import { withTask } from "../jobs/task.js";
import { AUDIT_TABLE } from "../telemetry/audit/audit-location.js";
import type { AuditTarget } from "../telemetry/audit/audit-table.js";

/** The longest compaction and the longest version clean-up, ms: no line is written meanwhile. */
const MAINTENANCE_MILLIS = 60_000;
/** Rows of a fragment after a compaction. */
const FRAGMENT_ROWS = 1_000_000;
/** How long old versions stay, ms: longer than an append or a compaction of another server needs one. */
const KEEP_VERSIONS_MILLIS = 3_600_000;

export interface AuditTargetDependencies {
  readonly config: Pick<Config, "root" | "storageOptions">;
  readonly engine: Engine;
  readonly catalog: Pick<Catalog, "tableAt">;
  /** Default: an hour. */
  readonly keepVersionsMs?: number;
}

/** Opens the audit table, which may not exist yet. */
export function auditTarget({
  config: { root, storageOptions },
  engine,
  catalog,
  keepVersionsMs = KEEP_VERSIONS_MILLIS,
}: AuditTargetDependencies): AuditTarget {
  const location = `${root.replace(/\/+$/, "")}/${AUDIT_TABLE}`;
  const table = engine.table(location, { ...storageOptions });
  return {
    create: (rows) => table.create(rows, false),
    append: (rows) => table.append(rows),
    async maintain() {
      await withinTime((task) =>
        table.compact({ targetRowsPerFragment: FRAGMENT_ROWS }, task, () => {}),
      );
      // The servers agree on the versions of a registered table, and its readers may have chosen how long they stay.
      if (await catalog.tableAt(location)) return;
      const cleanUp = await withinTime((task) => table.planCleanUp(keepVersionsMs, null, task));
      await withinTime((task) => cleanUp.run([], task)).finally(() => cleanUp.end());
    },
  };
}

const withinTime = <T>(work: (task: Task) => Promise<T>): Promise<T> =>
  withTask(AbortSignal.timeout(MAINTENANCE_MILLIS), work);
