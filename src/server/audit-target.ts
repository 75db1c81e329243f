import type { Config } from "../config/config.js";
import type { Engine } from "../engine/index.js";
import { withTask } from "../jobs/task.js";
import { AUDIT_TABLE } from "../telemetry/audit/audit-location.js";
import type { AuditTarget } from "../telemetry/audit/audit-table.js";

/** The longest compaction, ms: no line is written meanwhile. */
const COMPACT_MILLIS = 60_000;
/** Rows of a fragment after a compaction. */
const FRAGMENT_ROWS = 1_000_000;

/** Opens the audit table, which may not exist yet. */
export function auditTarget(
  { root, storageOptions }: Pick<Config, "root" | "storageOptions">,
  engine: Engine,
): AuditTarget {
  const location = `${root.replace(/\/+$/, "")}/${AUDIT_TABLE}`;
  const table = engine.table(location, { ...storageOptions });
  return {
    create: (rows) => table.create(rows, false),
    append: (rows) => table.append(rows),
    compact: () =>
      withTask(AbortSignal.timeout(COMPACT_MILLIS), (task) =>
        table.compact({ targetRowsPerFragment: FRAGMENT_ROWS }, task, () => {}),
      ),
  };
}
