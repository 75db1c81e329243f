import { docsPage } from "../api/openapi/docs.js";
import type { Services } from "../api/services.js";
import { allowAll, KeyAuthenticator } from "../auth/authenticator.js";
import { createFirstKey } from "../auth/first-key.js";
import { adoptTables } from "../catalog/discovery/adoption.js";
import { removeOrphanedTables, watchOrphanedTables } from "../catalog/tables/orphaned-tables.js";
import type { Config } from "../config/config.js";
import { Engine, Upload } from "../engine/index.js";
import { isRemote } from "../foundation/addresses.js";
import { BodyLimiter } from "../http/body-limiter.js";
import { drain } from "../http/drain.js";
import { ReplyLimiter } from "../http/reply-limiter.js";
import { Server } from "../http/server.js";
import { transportOf } from "../http/transport/open.js";
import { readCertificate, watchCertificate } from "../http/transport/tls.js";
import { backfill } from "../jobs/backfill.js";
import { compaction } from "../jobs/compaction.js";
import { indexBuild } from "../jobs/index-build.js";
import { cleanUp, maintenance } from "../jobs/maintenance.js";
import { startJobs } from "../jobs/runner.js";
import { viewRefresh } from "../jobs/view-refresh.js";
import { pausingCommits } from "../maintenance/commit-pauses.js";
import { startMaintenance } from "../maintenance/maintenance.js";
import { maintenanceKinds } from "../maintenance/maintenance-jobs.js";
import { answeringVersionCleanUps } from "../maintenance/version-clean-up-answers.js";
import { watchOrphanedParts } from "../multipart/clean-up.js";
import { operations, translations } from "../operations/index.js";
import { Prewarming } from "../prewarm/prewarming.js";
import { prewarmTables } from "../prewarm/table.js";
import { watchRemovals } from "../tables/table-removal.js";
import { releaseTable, releaseTableInThread } from "../tables/table-writes.js";
import type { Logger } from "../telemetry/logger.js";
import { mainThreadHandler } from "../threads/forwarded-operations.js";
import { SharedState } from "../threads/shared-state.js";
import type { Targets } from "../threads/thread-rpc.js";
import { type OpenCatalog, openCatalog } from "./open-catalog.js";
import { openRoot } from "./open-root.js";
import { WarmUp } from "./warm-up.js";
import { Workers } from "./workers.js";

/** A server that takes requests. */
export interface RunningServer {
  readonly port: number;
  /** Reads the certificate and its key again; logs what prevents it. Nothing to do without TLS. */
  reloadTls(): Promise<void>;
  /** Answers what is in flight, then closes everything. */
  stop(): Promise<void>;
  /** In place of it, or while it waits: the process may exit when this is done. */
  forceClose(): Promise<void>;
}

/** Opens the root and the catalog, cleans up after a crash, adopts what other tools wrote, and listens. */
export async function start(config: Config, log: Logger): Promise<RunningServer> {
  // What cannot work is reported before anything is made in the root.
  transportOf(config.http);
  if (config.tls) readCertificate(config.tls);
  const engine = new Engine(config);
  await openRoot(engine, config);
  if (isRemote(config.root))
    log.info({ catalog: withoutPassword(config.catalog) }, "the catalog of this remote root");
  const shared = new SharedState();
  const { root, storageOptions, catalog: url } = config;
  const onLease = (leftMs: number) => engine.renewLease(leftMs);
  const opened = await openCatalog({
    root,
    url,
    log,
    role: "server",
    epoch: shared.epoch,
    onLease,
  });
  // Others that clean up wait for an answer from here on.
  const answering = await answeringVersionCleanUps(opened, { engine, storageOptions, log });
  const store = pausingCommits(answering, { engine, storageOptions, log });
  try {
    return await startOn(config, log, engine, store, shared);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function startOn(
  config: Config,
  log: Logger,
  engine: Engine,
  store: OpenCatalog,
  shared: SharedState,
): Promise<RunningServer> {
  const { root, storageOptions } = config;
  const unfinished = { catalog: store.catalog, engine, storageOptions, log };
  await removeOrphanedTables(unfinished);
  const catalog = await adoptTables(store.catalog, { engine, root, storageOptions, log });
  const jobs = startJobs({
    store: store.jobs,
    catalog,
    kinds: [
      indexBuild(engine, storageOptions),
      backfill(engine, storageOptions),
      compaction(engine, storageOptions),
      viewRefresh({ engine, catalog, storageOptions }),
      maintenance(engine, storageOptions),
      cleanUp(engine, storageOptions, store),
    ],
    log,
    // Rows that came while an index was built are in none.
    onDone: ({ kind, table }) => {
      if (!maintenanceKinds.has(kind)) upkeep.tableChanged(table);
    },
  });
  const { transactions, multipart, idempotency } = store;
  const upkeep = startMaintenance({
    engine,
    catalog,
    jobs,
    storageOptions,
    settings: config.maintenance,
    log,
  });
  const workers = new Workers((key) => releaseTableInThread({ engine }, key));
  const services: Services = {
    config,
    engine,
    catalog,
    jobs,
    transactions,
    multipart,
    idempotency,
    maintenance: upkeep,
    prewarming: new Prewarming(),
    threads: workers,
    log,
  };
  const unwatch = watchOrphanedTables({
    ...unfinished,
    letGo: (table) => releaseTable(services, table),
  });
  const unwatchUploads = watchOrphanedParts(services);
  const unwatchDrops = watchRemovals(services);

  if (config.auth === "none") log.warn("--auth none: everybody on this host may do everything");
  else if (config.apiKey === undefined) await firstKey(config, store, log);
  const authenticator =
    config.auth === "none" ? allowAll : new KeyAuthenticator(store.keys, config.apiKey);
  const rehearsal = config.prewarm.length > 0 ? new WarmUp(authenticator) : undefined;
  const server = new Server({
    services,
    operations,
    translations,
    page: docsPage,
    isWarming: shared.warming.get,
    authenticator: rehearsal ?? authenticator,
    openUpload: () => new Upload(engine),
    bodyLimiter: BodyLimiter.forAuthenticated(config.memoryBytes, shared.bodyBytes),
    unauthenticatedBodyLimiter: BodyLimiter.forUnauthenticated(config.memoryBytes),
    replyLimiter: ReplyLimiter.of(engine.memory().work, config.httpThreads),
  });
  shared.warming.set(config.prewarm.length > 0);
  const port = await server.listen(config.host, config.port);
  log.info(server.transport, "the HTTP transport");
  if (config.httpThreads > 1) {
    workers.start({
      count: config.httpThreads - 1,
      input: { config, engine: engine.share(), shared: shared.buffer },
      targets: targetsOf(services, store),
      log,
    });
    // It listened alone, so the port is no stranger's.
    server.stopListening();
    await Promise.all([server.listen(config.host, port, true), workers.listen(config.host, port)]);
  }
  const reloadTls = async () => {
    try {
      await Promise.all([server, ...workers.servers].map((one) => one.reloadTls()));
      log.info("new connections use the certificate that was read again");
    } catch (err) {
      log.error({ err }, "the former certificate stays in use");
    }
  };
  const unwatchTls = config.tls && watchCertificate(config.tls, () => void reloadTls());
  void prewarmTables(services, config.prewarm)
    .then(() =>
      rehearsal?.run({ host: config.host, port, tls: config.tls !== undefined }, config.prewarm),
    )
    .catch((err) => log.warn({ err }, "the server could not ask itself"))
    .finally(() => shared.warming.set(false));
  return {
    port,
    reloadTls: () => (config.tls ? reloadTls() : Promise.resolve()),
    forceClose: () => workers.closeAll(),
    async stop() {
      unwatchTls?.();
      if (!(await drain([server, ...workers.servers], config.drainTimeoutMs))) {
        log.warn("requests were still in flight when the drain time was over");
      }
      await workers.stop();
      await Promise.all([upkeep.stop(), unwatch(), unwatchUploads(), unwatchDrops()]);
      await jobs.stop();
      await store.close();
    },
  };
}

/** Makes a first admin key where there is none, and says where it is. */
async function firstKey({ firstKeyFile }: Config, { keys }: OpenCatalog, log: Logger) {
  try {
    const path = await createFirstKey(keys, firstKeyFile);
    if (path)
      process.stdout.write(`a first admin key is in ${path}: read it and remove the file\n`);
  } catch (err) {
    if (!(err instanceof Error && "syscall" in err)) throw err;
    log.warn(
      { err, file: firstKeyFile },
      "no admin key was made, because its file cannot be written: make one with `joust key create --role admin`, or give --api-key-file",
    );
  }
}

/** What threads beside this one may call. */
const targetsOf = (services: Services, { keys }: OpenCatalog): Targets => {
  const { catalog, jobs, transactions, multipart, idempotency, maintenance, threads } = services;
  const called = {
    catalog,
    jobs,
    transactions,
    multipart,
    idempotency,
    maintenance,
    threads,
    keys,
  };
  return { ...called, operations: mainThreadHandler(services, operations) };
};

/** A Postgres address without its password. */
const withoutPassword = (url: string): string =>
  url.replace(/(?<=^\w+:\/\/[^:/@]*):[^@]*(?=@)/, "");
