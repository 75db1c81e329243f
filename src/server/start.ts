import type { Services } from "../api/services.js";
import type { Config } from "../config/config.js";
import { isRemote } from "../foundation/addresses.js";
import { drain } from "../http/drain.js";
import { transportOf } from "../http/transport/open.js";
import { certificateWatch, readCertificate } from "../http/transport/tls.js";
import { withCommitPauses } from "../maintenance/commit-pauses.js";
import { measureMetrics } from "../operations/server/measure-metrics.js";
import { prewarmTables } from "../prewarm/prewarm-table.js";
import { shareAuthCounts } from "../telemetry/auth-counts.js";
import type { Logger } from "../telemetry/logger.js";
import { startMetrics, startTracing, stopTracing } from "../telemetry/otlp/start.js";
import { tracing } from "../telemetry/tracing.js";
import { SharedState } from "../threads/shared-state.js";
import { checkPython } from "./check-python.js";
import { forwardEngineLog } from "./engine-log.js";
import { listen } from "./listen.js";
import { listenFlight } from "./listen-flight.js";
import { openAudit } from "./open-audit.js";
import { openAuthenticator } from "./open-authenticator.js";
import { openLimits, reloadLimits } from "./open-limits.js";
import { openStorage, type Storage } from "./open-storage.js";
import { startServices } from "./start-services.js";
import { traceEngine } from "./trace-engine.js";
import { WarmUp } from "./warm-up.js";
import { withoutPassword } from "./without-password.js";

/** A server that accepts requests. */
export interface RunningServer {
  readonly port: number;
  /** Reads the certificate, its key and the limits again, and opens the audit log anew, as far as there are any. Logs an error. */
  reload(): Promise<void>;
  /** Finishes the requests in flight, then closes everything. */
  stop(): Promise<void>;
}

/**
 * Starts a server:
 *
 * 1. Check the HTTP transport, the certificate, Python and the limits, before anything is created in the root. Open the
 *    audit log, receive the log of the engine, and start to record spans.
 * 2. Open the root and the catalog, and join the cluster.
 * 3. Clean up after a crash, adopt tables of other programs, and start jobs and maintenance.
 * 4. Open the key store, and create a first admin key if there is no key.
 * 5. Listen for HTTP and for Flight SQL, and start the worker threads.
 * 6. Prewarm tables, while the server already accepts requests, and start to send metrics.
 *
 * `onForceClose` receives a function that closes all sockets of worker threads, and the audit log, also during the start
 * and during `stop`. From then on, call it before the process exits.
 */
export async function start(
  given: Config,
  log: Logger,
  onForceClose: (forceClose: () => Promise<void>) => void,
): Promise<RunningServer> {
  const certificate = given.tls && certificateWatch(given.tls);
  checkTransport(given);
  const functions = given.functions && (await checkPython(given.functions, log));
  const config = { ...given, ...(functions && { functions }) };
  const limits = await openLimits(config);
  const audit = await openAudit(config, log);
  forwardEngineLog(log);
  await startTracing(config.otlp, log, "main");
  if (tracing) traceEngine(tracing);
  const shared = new SharedState();
  const authCounts = shareAuthCounts(config.httpThreads);
  const storage = await openServerStorage(config, shared, log);
  if (isRemote(config.root))
    log.info({ catalog: withoutPassword(config.catalog) }, "the catalog of this remote root");
  const { store } = storage;
  audit?.openTable({ engine: storage.engine, catalog: store.catalog });
  /** Ends what runs so far, if the start fails. The newest is ended first. */
  const endings: (() => unknown)[] = [() => store.close()];
  try {
    const {
      services,
      workers,
      stop: stopServices,
    } = await startServices(config, storage, log, audit?.log, limits.memory);
    endings.push(stopServices);
    const opened = await openAuthenticator(config, store.keys, log);
    endings.push(opened.stop, () => workers.closeAll());
    onForceClose(async () => {
      await workers.closeAll();
      await audit?.close();
    });
    const warmUp = config.prewarm.length > 0 ? new WarmUp(opened.authenticator) : undefined;
    shared.warming.set(warmUp !== undefined);
    const authenticator = warmUp ?? opened.authenticator;
    const { server, port, limiter } = await listen({
      services,
      workers,
      authenticator,
      keys: store.keys,
      keyUses: opened.keyUses,
      shared,
      limits,
      auditLines: audit?.lines,
      authCounts,
    });
    endings.push(() => server.closeConnections());
    const flight = await listenFlight({ services, authenticator, limiter }, port);
    const servers = [server, ...(flight ? [flight] : []), ...workers.servers];
    const stopMetrics = await startMetrics(config.otlp, log, () => measureMetrics(services));
    const reloadTls = () => reloadCertificate(servers, log);
    const stopWatchingTls = certificate?.start(() => void reloadTls());
    const allServers = [server, ...workers.servers];
    const reloadAllLimits = () => reloadLimits(limits, allServers, log);
    const stopWatchingLimits = limits.source?.watch.start(() => void reloadAllLimits());
    void prewarm(services, port, warmUp).finally(() => shared.warming.set(false));
    return {
      port,
      async reload() {
        await Promise.all([config.tls && reloadTls(), reloadAllLimits(), audit?.reopen()]);
      },
      async stop() {
        stopWatchingTls?.();
        stopWatchingLimits?.();
        if (!(await drain(servers, config.drainTimeoutMs))) {
          log.warn("requests were still in flight at the end of the drain timeout");
        }
        await workers.stop();
        await stopMetrics();
        await stopServices();
        await opened.stop();
        await Promise.all([stopTracing(), audit?.close()]);
        await store.close();
      },
    };
  } catch (error) {
    // Node aborts a process that exits while a thread has an open socket, and background work needs the open catalog.
    for (const end of endings.reverse()) {
      try {
        await end();
      } catch {
        // The error of the start is the one to report.
      }
    }
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

async function reloadCertificate(
  servers: readonly { reloadTls(): Promise<void> }[],
  log: Logger,
): Promise<void> {
  try {
    await Promise.all(servers.map((server) => server.reloadTls()));
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
