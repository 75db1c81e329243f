import { claimRemoteJob } from "./claim-remote-job.js";
import { getRemoteOrder } from "./get-remote-order.js";
import { reportRemoteWork } from "./report-remote-work.js";

/** What the workers of jobs on Ray ask. */
export const workerCalls = [claimRemoteJob, getRemoteOrder, reportRemoteWork];
