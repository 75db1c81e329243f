import { apiPage } from "../openapi/openapi-json.js";
import { getMetrics } from "../telemetry/metrics.js";
import { alterTableAddColumns } from "./add-columns.js";
import { alterColumns } from "./alter-columns.js";
import { alterTableBackfillColumns } from "./backfill.js";
import { batchCommitTables } from "./batch-commit.js";
import { branches } from "./branches.js";
import { compactTable } from "./compact-table.js";
import { newVersions } from "./create-versions.js";
import { createMaterializedView } from "./create-view.js";
import { indexes } from "./indexes.js";
import { jobs } from "./jobs.js";
import { lancedbOnly } from "./lancedb/index.js";
import { mergeInsertIntoTable } from "./merge-insert.js";
import { metadata } from "./metadata.js";
import { namespaces } from "./namespaces.js";
import type { Operation } from "./operation.js";
import { prewarmTable } from "./prewarm-table.js";
import { queries } from "./queries.js";
import { recorded } from "./recorded.js";
import { refreshMaterializedView, refreshTable } from "./refresh-view.js";
import { registration } from "./registration.js";
import { restoreTable } from "./restore.js";
import { listRowErrors } from "./row-errors.js";
import { rows } from "./rows.js";
import { executeSql } from "./sql.js";
import { tables } from "./tables.js";
import { tags } from "./tags.js";
import { transactions } from "./transactions.js";
import { updateTable } from "./update-table.js";
import { versions } from "./versions.js";
import { views } from "./views.js";

/** Operations of the namespace interface. */
export const contract: readonly Operation[] = (
  [
    ...namespaces,
    ...tables,
    ...registration,
    ...rows,
    ...queries,
    executeSql,
    ...indexes,
    mergeInsertIntoTable,
    updateTable,
    alterTableAddColumns,
    ...alterColumns,
    alterTableBackfillColumns,
    listRowErrors,
    ...metadata,
    ...versions,
    ...newVersions,
    batchCommitTables,
    restoreTable,
    ...tags,
    ...branches,
    createMaterializedView,
    refreshMaterializedView,
    refreshTable,
    ...views,
    compactTable,
    ...transactions,
    ...jobs,
  ] as const
).map(recorded);

/** Everything the server answers, apart from the probes of its health. */
export const operations: readonly Operation[] = [
  ...contract,
  ...lancedbOnly,
  prewarmTable,
  apiPage(contract),
  getMetrics,
];
