import type { Services } from "../api/services.js";
import { StoredWorkerKeys } from "../auth/worker-keys.js";
import { adoptTables } from "../catalog/discovery/adoption.js";
import {
  removeOrphanedTables,
  startOrphanedTableRemoval,
} from "../catalog/tables/orphaned-table-removal.js";
import type { Config } from "../config/config.js";
import { flightOperations } from "../flight/flight-operations.js";
import { requestOperations } from "../http/request-operations.js";
import { backfill } from "../jobs/backfill.js";
import { compaction } from "../jobs/compaction.js";
import { indexBuild } from "../jobs/index-build.js";
import { maintenance as maintenanceJob } from "../jobs/maintenance.js";
import type { RayExecutor, RayExecutorDependencies } from "../jobs/ray/ray-executor.js";
import { isActive } from "../jobs/record.js";
import { startJobs } from "../jobs/runner.js";
import { versionCleanUp } from "../jobs/version-clean-up.js";
import { viewRefresh } from "../jobs/view-refresh.js";
import { startMaintenance } from "../maintenance/maintenance.js";
import { maintenanceKinds } from "../maintenance/maintenance-jobs.js";
import { startOrphanedPartRemoval } from "../multipart/orphaned-part-removal.js";
import { operations } from "../operations/index.js";
import { PrewarmQueue } from "../prewarm/prewarm-queue.js";
import { startRemovalAcknowledgements } from "../tables/table-removal.js";
import { endTableWorkInThread, endWorkBeforeRemoval } from "../tables/table-writes.js";
import type { AuditLog } from "../telemetry/audit/audit-log.js";
import type { Logger } from "../telemetry/logger.js";
import { RequestMetrics } from "../telemetry/request-metrics.js";
import type { Storage } from "./open-storage.js";
import { Workers } from "./workers.js";

export interface StartedServices {
  readonly services: Services;
  readonly workers: Workers;
  /** Stops the background work. Requests must have ended. */
  stop(): Promise<void>;
}

/** Cleans up after a crash, adopts tables that other programs wrote, and starts the background work. */
export async function startServices(
  config: Config,
  { engine, store }: Storage,
  log: Logger,
  audit: AuditLog | undefined,
  limits: Services["limits"],
): Promise<StartedServices> {
  const { root, storageOptions } = config;
  const { grants, transactions, multipart, idempotency } = store;
  const orphans = { catalog: store.catalog, engine, storageOptions, log };
  await removeOrphanedTables(orphans);
  const catalog = await adoptTables(store.catalog, { engine, root, storageOptions, log });
  const workerKeys = new StoredWorkerKeys(store.keys, store.jobs);
  await workerKeys.revokeInactive(async (id) => {
    const job = await store.jobs.find(id);
    return job !== undefined && isActive(job);
  });
  const executor =
    config.ray &&
    (await openRayExecutor({
      settings: config.ray,
      keys: workerKeys,
      jobs: store.jobs,
      catalog,
      log,
    }));
  const jobs = startJobs({
    store: store.jobs,
    catalog,
    kinds: [
      indexBuild({ engine, storageOptions, executor }),
      backfill({
        engine,
        storageOptions,
        // Processes of this server call the functions otherwise.
        executor: config.ray?.runsFunctions ? executor : undefined,
      }),
      compaction({ engine, storageOptions, executor }),
      viewRefresh({ engine, catalog, storageOptions, executor }),
      maintenanceJob({ engine, storageOptions, executor }),
      versionCleanUp(engine, storageOptions, store),
    ],
    log,
    // An index that was just built lacks the rows inserted during the build.
    onDone: ({ kind, table }) => {
      if (!maintenanceKinds.has(kind)) maintenance.tableChanged(table);
    },
  });
  const maintenance = startMaintenance({
    engine,
    catalog,
    jobs,
    storageOptions,
    settings: config.maintenance,
    log,
    autoRefreshes: store.autoRefreshes,
  });
  const workers = new Workers((key) => endTableWorkInThread({ engine }, key));
  const services: Services = {
    config,
    engine,
    catalog,
    grants,
    jobs,
    workerCalls: executor,
    transactions,
    multipart,
    idempotency,
    maintenance,
    prewarming: new PrewarmQueue(),
    threads: workers,
    limits,
    requests: RequestMetrics.create(requestOperations(operations), config.httpThreads),
    flightCalls: RequestMetrics.create(flightOperations, 1),
    log,
    audit,
  };
  const stopWatching = [
    startOrphanedTableRemoval({
      ...orphans,
      endTableWork: (table) => endWorkBeforeRemoval(services, table),
    }),
    startOrphanedPartRemoval(services),
    startRemovalAcknowledgements(services),
  ];
  return {
    services,
    workers,
    async stop() {
      await Promise.all([maintenance.stop(), ...stopWatching.map((stop) => stop())]);
      await jobs.stop();
    },
  };
}

/** Loads the executor of `--executor ray`: other servers need none of its code. */
async function openRayExecutor(dependencies: RayExecutorDependencies): Promise<RayExecutor> {
  const { RayExecutor } = await import("../jobs/ray/ray-executor.js");
  return new RayExecutor(dependencies);
}
