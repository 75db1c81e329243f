import type { Engine } from "../../native/index.js";
import type { Catalog } from "../catalog/catalog.js";
import type { Grants } from "../catalog/grants/grants.js";
import type { Config } from "../config/config.js";
import type { Jobs } from "../jobs/jobs.js";
import type { WorkerCalls } from "../jobs/ray/worker-calls.js";
import type { LimitMemory } from "../limits/limit-memory.js";
import type { Maintenance } from "../maintenance/maintenance.js";
import type { MultipartWrites } from "../multipart/multipart.js";
import type { PrewarmQueue } from "../prewarm/prewarm-queue.js";
import type { Threads } from "../tables/table-writes.js";
import type { AuditLog } from "../telemetry/audit/audit-log.js";
import type { Logger } from "../telemetry/logger.js";
import type { RequestMetrics } from "../telemetry/request-metrics.js";
import type { IdempotentRequests } from "./idempotency/idempotency.js";
import type { Transactions } from "./transactions/transactions.js";

/**
 * All services, made once at start. Only the pipeline names this type: an operation declares the services that it
 * uses (`Operation.uses`), and a shared function takes a `Pick` of them.
 */
export interface Services {
  readonly config: Config;
  readonly engine: Engine;
  readonly catalog: Catalog;
  readonly grants: Grants;
  readonly jobs: Jobs;
  /** Absent without `--executor ray`, and in threads other than the main thread. */
  readonly workerCalls: WorkerCalls | undefined;
  readonly transactions: Transactions;
  readonly multipart: MultipartWrites;
  readonly idempotency: IdempotentRequests;
  readonly maintenance: Maintenance;
  readonly prewarming: PrewarmQueue;
  readonly threads: Threads;
  /** Absent in threads other than the main thread. */
  readonly limits: Pick<LimitMemory, "refusals"> | undefined;
  /** Counts HTTP requests. */
  readonly requests: RequestMetrics;
  /** Counts calls of Flight SQL. Absent in threads other than the main thread. */
  readonly flightCalls: RequestMetrics | undefined;
  readonly log: Logger;
  /** Undefined without `--audit-log`. */
  readonly audit: AuditLog | undefined;
}
