import { lancedbTranslations } from "../api/dialects/lancedb.js";
import type { Operation, Translation } from "../api/operation.js";
import { withTransactionRecord } from "../api/transactions/transaction-record.js";
import { branches } from "./branches/branches.js";
import { alterTableAddColumns } from "./columns/add-columns.js";
import { alterColumns } from "./columns/alter-columns.js";
import { alterTableBackfillColumns } from "./columns/backfill.js";
import { listRowErrors } from "./columns/row-errors.js";
import { indexes } from "./indexes/indexes.js";
import { jobs } from "./jobs/jobs.js";
import { lancedbOnly } from "./lancedb-only.js";
import { namespaces } from "./namespaces/namespaces.js";
import { queries } from "./queries/queries.js";
import { executeSql } from "./queries/sql.js";
import { mergeInsertIntoTable } from "./rows/merge-insert.js";
import { rows } from "./rows/rows.js";
import { updateTable } from "./rows/update-table.js";
import { getMetrics } from "./server/metrics.js";
import { apiPage } from "./server/openapi-json.js";
import { compactTable } from "./tables/compact-table.js";
import { metadata } from "./tables/metadata.js";
import { prewarmTable } from "./tables/prewarm-table.js";
import { registration } from "./tables/registration.js";
import { tables } from "./tables/tables.js";
import { transactions } from "./transactions/transactions.js";
import { batchCommitTables } from "./versions/batch-commit.js";
import { newVersions } from "./versions/create-versions.js";
import { restoreTable } from "./versions/restore.js";
import { tags } from "./versions/tags.js";
import { versions } from "./versions/versions.js";
import { createMaterializedView } from "./views/create-view.js";
import { refreshMaterializedView, refreshTable } from "./views/refresh-view.js";
import { views } from "./views/views.js";

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
).map(withTransactionRecord);

/** What the operations look like to LanceDB SDKs. */
export const translations: readonly Translation[] = lancedbTranslations([
  ...contract,
  ...lancedbOnly,
]);

/** Everything the server answers, apart from the probes of its health. */
export const operations: readonly Operation[] = [
  ...contract,
  ...lancedbOnly,
  prewarmTable,
  apiPage(contract),
  getMetrics,
];
