/** Operations that only LanceDB SDKs know. */
import type { Operation } from "../api/operation.js";
import { withTransactionRecord } from "../api/transactions/transaction-record.js";
import { branchComparisons } from "./branches/compare-branches.js";
import { blobs } from "./rows/blobs.js";
import { multipart } from "./rows/multipart.js";
import { unserved } from "./server/unserved.js";
import { cloneTable } from "./tables/clone-table.js";
import { prewarming } from "./tables/prewarm-parts.js";

export const lancedbOnly: readonly Operation[] = [
  cloneTable,
  ...multipart,
  ...blobs,
  ...prewarming,
  ...branchComparisons,
  ...unserved,
].map(withTransactionRecord);
