import type { Services } from "../api/services.js";
import type { Catalog, TableId } from "../catalog/catalog.js";
import type { KeyStore } from "../catalog/keys.js";
import { keyCache } from "../catalog/keys.js";
import { tableCache } from "../catalog/lookup.js";
import { encodePath } from "../catalog/path.js";
import type { Config } from "../config/config.js";
import { openReader } from "../database/sqlite/open.js";
import type { Engine } from "../engine/index.js";
import { isPostgres } from "../foundation/addresses.js";
import type { Maintenance } from "../maintenance/maintenance.js";
import type { Logger } from "../telemetry/logger.js";
import type { SharedState } from "../threads/shared-state.js";
import type { ThreadRpc } from "../threads/thread-rpc.js";

/** What a thread beside the first works with. */
interface WorkerDependencies {
  readonly config: Config;
  readonly engine: Engine;
  readonly log: Logger;
  readonly shared: SharedState;
  /** The first thread. */
  readonly first: ThreadRpc;
}

type KeyLookup = Pick<KeyStore, "findByHash" | "findByHashSync">;

/**
 * The first thread's services, seen from another one. Names and keys are read here where the catalog is a
 * file, and as true as in the first thread: each commit raises the epoch that all threads look at.
 */
export function workerServices(surroundings: WorkerDependencies): {
  services: Services;
  keys: KeyLookup;
} {
  const { config, engine, log, shared, first } = surroundings;
  const reads = isPostgres(config.catalog) ? undefined : openReader(config.catalog, shared.epoch);
  const tables = reads && tableCache(reads);
  const known = reads && keyCache(reads);
  const services: Services = {
    config,
    engine,
    log,
    catalog: first.remote<Catalog>("catalog", {
      tableSync: (id: TableId) => tables?.get(encodePath(id)),
    }),
    jobs: first.remote("jobs"),
    transactions: first.remote("transactions"),
    multipart: first.remote("multipart"),
    idempotency: first.remote("idempotency"),
    // The rest of it is asked for in the first thread only: see `Operation.inFirstThread`.
    maintenance: first.remote<Maintenance>("maintenance", {
      tableChanged: (key) => first.notify("maintenance", "tableChanged", [key]),
    }),
    prewarming: first.remote("prewarming"),
    threads: first.remote("threads"),
  };
  const keys = first.remote<KeyLookup>("keys", {
    findByHashSync: (hash) => (known ? (known.get(hash.toString("hex")) ?? null) : undefined),
  });
  return { services, keys };
}
