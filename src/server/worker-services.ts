import type { Services } from "../api/services.js";
import type { Catalog, TableId } from "../catalog/catalog.js";
import { DatabaseNames } from "../catalog/databases.js";
import { cachedGrants } from "../catalog/grants/cache.js";
import type { Grants } from "../catalog/grants/grants.js";
import type { SqlGrants } from "../catalog/grants/store.js";
import { keyCache } from "../catalog/key-records.js";
import type { KeyStore } from "../catalog/keys.js";
import { tableCache } from "../catalog/lookup.js";
import { encodePath } from "../catalog/path.js";
import type { Config } from "../config/config.js";
import { openReader } from "../database/sqlite/open.js";
import type { Engine } from "../engine/index.js";
import { isPostgres } from "../foundation/addresses.js";
import type { Maintenance } from "../maintenance/maintenance.js";
import type { AuditLog } from "../telemetry/audit/audit-log.js";
import type { Logger } from "../telemetry/logger.js";
import type { RequestMetrics } from "../telemetry/request-metrics.js";
import type { SharedState } from "../threads/shared-state.js";
import type { ThreadRpc } from "../threads/thread-rpc.js";

interface WorkerDependencies {
  readonly config: Config;
  readonly engine: Engine;
  readonly log: Logger;
  readonly shared: SharedState;
  readonly mainThread: ThreadRpc;
  readonly audit: AuditLog | undefined;
  readonly requests: RequestMetrics;
}

type KeyLookup = Pick<KeyStore, "findByHash" | "findByHashSync">;

/**
 * The services of a worker thread. Most of them call the main thread. With a SQLite catalog the thread
 * reads names and keys itself. They are never staler than in the main thread: each commit raises the
 * epoch that all threads read.
 */
export function workerServices(dependencies: WorkerDependencies): {
  services: Services;
  keys: KeyLookup;
} {
  const { config, engine, log, shared, mainThread, audit, requests } = dependencies;
  const reader = isPostgres(config.catalog) ? undefined : openReader(config.catalog, shared.epoch);
  const localTables = reader && tableCache(reader);
  const localKeys = reader && keyCache(reader);
  const localDatabases = reader && new DatabaseNames(reader);
  const localGrants = cachedGrants(reader, (subjects) =>
    mainThread.remote<SqlGrants>("grants").rowsOf(subjects),
  );
  const services: Services = {
    config,
    engine,
    log,
    catalog: mainThread.remote<Catalog>("catalog", {
      tableSync: (id: TableId) => localTables?.get(encodePath(id)),
      isDatabaseSync: (name: string) => localDatabases?.isDatabaseSync(name),
    }),
    grants: mainThread.remote<Grants>("grants", {
      version: () => localGrants.version(),
      heldSync: (subjects) => localGrants.heldSync(subjects),
      held: (subjects) => localGrants.held(subjects),
    }),
    jobs: mainThread.remote("jobs"),
    workerCalls: undefined,
    transactions: mainThread.remote("transactions"),
    multipart: mainThread.remote("multipart"),
    idempotency: mainThread.remote("idempotency"),
    // Only operations with `mainThreadOnly` use the other members.
    maintenance: mainThread.remote<Maintenance>("maintenance", {
      tableChanged: (key) => mainThread.notify("maintenance", "tableChanged", [key]),
    }),
    prewarming: mainThread.remote("prewarming"),
    threads: mainThread.remote("threads"),
    limits: undefined,
    requests,
    flightCalls: undefined,
    audit,
  };
  const keys = mainThread.remote<KeyLookup>("keys", {
    findByHashSync: (hash) => (localKeys ? (localKeys.get(hash) ?? null) : undefined),
  });
  return { services, keys };
}
