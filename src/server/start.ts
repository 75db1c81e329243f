import type { Services } from "../api/services.js";
import type { Config } from "../config/config.js";
import { isRemote } from "../foundation/addresses.js";
import { drain } from "../http/drain.js";
import type { Server } from "../http/server.js";
import { transportOf } from "../http/transport/open.js";
import { readCertificate, watchCertificate } from "../http/transport/tls.js";
import { withCommitPauses } from "../maintenance/commit-pauses.js";
import { prewarmTables } from "../prewarm/prewarm-table.js";
import type { Logger } from "../telemetry/logger.js";
import { SharedState } from "../threads/shared-state.js";
import { listen } from "./listen.js";
import { openAuthenticator } from "./open-authenticator.js";
import { openStorage, type Storage } from "./open-storage.js";
import { startServices } from "./start-services.js";
import { WarmUp } from "./warm-up.js";
import type { Workers } from "./workers.js";

/** A server that accepts requests. */
export interface RunningServer {
  readonly port: number;
  /** Reads the certificate and its key again. Logs an error. Does nothing without TLS. */
  reloadTls(): Promise<void>;
  /** Finishes the requests in flight, then closes everything. */
  stop(): Promise<void>;
  /** Closes all sockets of worker threads, also during `stop`. The process may exit afterwards. */
  forceClose(): Promise<void>;
}

/**
 * Starts a server:
 *
 * 1. Check the HTTP transport and the certificate, before anything is created in the root.
 * 2. Open the root and the catalog, and join the cluster.
 * 3. Clean up after a crash, adopt tables of other programs, and start jobs and maintenance.
 * 4. Open the key store, and create a first admin key if there is no key.
 * 5. Listen, and start the worker threads.
 * 6. Prewarm tables, while the server already accepts requests.
 */
export async function start(config: Config, log: Logger): Promise<RunningServer> {
  checkTransport(config);
  const shared = new SharedState();
  const storage = await openServerStorage(config, shared, log);
  if (isRemote(config.root))
    log.info({ catalog: withoutPassword(config.catalog) }, "the catalog of this remote root");
  const { store } = storage;
  try {
    const { services, workers, stop: stopServices } = await startServices(config, storage, log);
    const opened = await openAuthenticator(config, store.keys, log);
    const warmUp = config.prewarm.length > 0 ? new WarmUp(opened.authenticator) : undefined;
    shared.warming.set(warmUp !== undefined);
    const authenticator = warmUp ?? opened.authenticator;
    const { server, port } = await listen({
      services,
      workers,
      authenticator,
      keys: store.keys,
      keyUses: opened.keyUses,
      shared,
    });
    const reloadTls = () => reloadCertificate(server, workers, log);
    const stopWatchingTls = config.tls && watchCertificate(config.tls, () => void reloadTls());
    void prewarm(services, port, warmUp).finally(() => shared.warming.set(false));
    return {
      port,
      reloadTls: () => (config.tls ? reloadTls() : Promise.resolve()),
      forceClose: () => workers.closeAll(),
      async stop() {
        stopWatchingTls?.();
        if (!(await drain([server, ...workers.servers], config.drainTimeoutMs))) {
          log.warn("requests were still in flight at the end of the drain timeout");
        }
        await workers.stop();
        await stopServices();
        await opened.stop();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** @throws Error with one sentence if this host cannot serve HTTP as configured */
function checkTransport({ http, tls }: Config): void {
  transportOf(http);
  if (tls) readCertificate(tls);
}

/** Opens the storage. Commits pause as long as other members of the cluster ask for it. */
async function openServerStorage(
  config: Config,
  shared: SharedState,
  log: Logger,
): Promise<Storage> {
  const { engine, store } = await openStorage(config, log, shared.epoch);
  const { storageOptions } = config;
  return { engine, store: withCommitPauses(store, { engine, storageOptions, log }) };
}

async function reloadCertificate(server: Server, workers: Workers, log: Logger): Promise<void> {
  try {
    await Promise.all([server, ...workers.servers].map((one) => one.reloadTls()));
    log.info("reloaded the certificate for new connections");
  } catch (err) {
    log.error({ err }, "the certificate could not be reloaded; the former one stays in use");
  }
}

/** Never rejects. */
async function prewarm(
  services: Services,
  port: number,
  warmUp: WarmUp | undefined,
): Promise<void> {
  const { config, log } = services;
  try {
    await prewarmTables(services, config.prewarm);
    await warmUp?.run({ host: config.host, port, tls: config.tls !== undefined }, config.prewarm);
  } catch (err) {
    log.warn({ err }, "the warm-up queries failed");
  }
}

/** A Postgres URL without its password. */
const withoutPassword = (url: string): string =>
  url.replace(/(?<=^\w+:\/\/[^:/@]*):[^@]*(?=@)/, "");
