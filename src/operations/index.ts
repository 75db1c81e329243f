import { lancedbTranslations } from "../api/dialects/lancedb.js";
import type { Operation, Translation } from "../api/operation.js";
import { withTransactionRecord } from "../api/transactions/transaction-record.js";
import { branches } from "./branches/index.js";
import { columns } from "./columns/index.js";
import { indexes } from "./indexes/index.js";
import { jobs } from "./jobs/index.js";
import { workerCalls } from "./jobs/workers/index.js";
import { lancedbOnly } from "./lancedb-only.js";
import { namespaces } from "./namespaces/index.js";
import { prewarmTable } from "./prewarm/prewarm-table.js";
import { queries } from "./queries/index.js";
import { rows } from "./rows/index.js";
import { getMetrics } from "./server/get-metrics.js";
import { getOpenApiDocument } from "./server/get-open-api-document.js";
import { tables } from "./tables/index.js";
import { transactions } from "./transactions/index.js";
import { versions } from "./versions/index.js";
import { views } from "./views/index.js";

/** The operations of the namespace interface. */
export const contract: readonly Operation[] = [
  ...namespaces,
  ...tables,
  ...rows,
  ...queries,
  ...indexes,
  ...columns,
  ...versions,
  ...branches,
  ...views,
  ...transactions,
  ...jobs,
].map(withTransactionRecord);

/** The operations as LanceDB SDKs call them. */
export const translations: readonly Translation[] = lancedbTranslations([
  ...contract,
  ...lancedbOnly,
]);

/** All operations of the server. The health probes are not among them. */
export const operations: readonly Operation[] = [
  ...contract,
  ...lancedbOnly,
  prewarmTable,
  ...workerCalls,
  getOpenApiDocument(contract),
  getMetrics,
];
