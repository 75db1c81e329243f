/** The operations that only LanceDB SDKs call. */
import type { Operation } from "../api/operation.js";
import { withTransactionRecord } from "../api/transactions/transaction-record.js";
import { authz } from "./authz/index.js";
import { cherryPickTableBranch } from "./branches/cherry-pick-table-branch.js";
import { diffTableBranch } from "./branches/diff-table-branch.js";
import { prewarmTableIndex } from "./prewarm/prewarm-table-index.js";
import { prewarmTablePageCache } from "./prewarm/prewarm-table-page-cache.js";
import { abortMultipartWrite } from "./rows/abort-multipart-write.js";
import { completeMultipartWrite } from "./rows/complete-multipart-write.js";
import { createMultipartWrite } from "./rows/create-multipart-write.js";
import { fetchTableBlobs } from "./rows/fetch-table-blobs.js";
import { getTableBlobBytes } from "./rows/get-table-blob-bytes.js";
import { unserved } from "./server/unserved.js";
import { cloneTable } from "./tables/clone-table.js";

export const lancedbOnly: readonly Operation[] = [
  cloneTable,
  createMultipartWrite,
  completeMultipartWrite,
  abortMultipartWrite,
  fetchTableBlobs,
  getTableBlobBytes,
  prewarmTableIndex,
  prewarmTablePageCache,
  diffTableBranch,
  cherryPickTableBranch,
  ...authz,
  ...unserved,
].map(withTransactionRecord);
