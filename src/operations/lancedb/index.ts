/** Operations that only LanceDB SDKs know. */
import type { Operation } from "../operation.js";
import { recorded } from "../recorded.js";
import { blobs } from "./blobs.js";
import { branchComparisons } from "./branches.js";
import { cloneTable } from "./clone-table.js";
import { multipart } from "./multipart.js";
import { prewarming } from "./prewarm.js";
import { unserved } from "./unserved.js";

export const lancedbOnly: readonly Operation[] = [
  cloneTable,
  ...multipart,
  ...blobs,
  ...prewarming,
  ...branchComparisons,
  ...unserved,
].map(recorded);
