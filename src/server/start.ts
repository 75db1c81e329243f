import { docsPage } from "../api/openapi/docs.js";
import type { Services } from "../api/services.js";
import { allowAll, KeyAuthenticator } from "../auth/authenticator.js";
import { makeFirstKey } from "../auth/first-key.js";
import { adoptTables } from "../catalog/discovery/adoption.js";
import {
  removeOrphanedTables,
  startOrphanedTableRemoval,
} from "../catalog/tables/orphaned-table-removal.js";
import type { Config } from "../config/config.js";
import { Engine, Upload } from "../engine/index.js";
import { isRemote } from "../foundation/addresses.js";
import { BodyLimiter } from "../http/body-limiter.js";
import { drain } from "../http/drain.js";
import { ReplyLimiter } from "../http/reply-limiter.js";
import { Server } from "../http/server.js";
import { transportOf } from "../http/transport/open.js";
import { readPair, watchPair } from "../http/transport/tls.js";
import { backfill } from "../jobs/backfill.js";
import { compaction } from "../jobs/compaction.js";
import { indexBuild } from "../jobs/index-build.js";
import { maintenance } from "../jobs/maintenance.js";
import { startJobs } from "../jobs/runner.js";
import { versionCleanUp } from "../jobs/version-clean-up.js";
import { viewRefresh } from "../jobs/view-refresh.js";
import { withCommitPauses } from "../maintenance/commit-pauses.js";
import { startMaintenance } from "../maintenance/maintenance.js";
import { maintenanceKinds } from "../maintenance/maintenance-jobs.js";
import { withVersionCleanUpAnswers } from "../maintenance/version-clean-up-answers.js";
import { startOrphanedPartRemoval } from "../multipart/orphaned-part-removal.js";
import { operations, translations } from "../operations/index.js";
import { PrewarmQueue } from "../prewarm/prewarm-queue.js";
import { prewarmTables } from "../prewarm/prewarm-table.js";
import { startRemovalAcknowledgements } from "../tables/table-removal.js";
import { releaseTable, releaseTableInThread } from "../tables/table-writes.js";
import type { Logger } from "../telemetry/logger.js";
import { mainThreadHandler } from "../threads/forwarded-operations.js";
import { Shared } from "../threads/shared.js";
import type { Targets } from "../threads/thread-rpc.js";
import { type OpenCatalog, openCatalog } from "./open-catalog.js";
import { openRoot } from "./open-root.js";
import { WarmUp } from "./warm-up.js";
import { Workers } from "./workers.js";

/** A server that takes requests. */
export interface Running {
  readonly port: number;
  /** Reads the certificate and its key again; logs what prevents it. Nothing to do without TLS. */
  reloadTls(): Promise<void>;
  /** Answers what is in flight, then closes everything. */
  stop(): Promise<void>;
  /** In place of it, or while it waits: the process may exit when this is done. */
  giveUp(): Promise<void>;
}

/** Opens the root and the catalog, cleans up after a crash, adopts what other tools wrote, and listens. */
export async function start(config: Config, log: Logger): Promise<Running> {
  // What cannot work is reported before anything is made in the root.
  transportOf(config.http);
  if (config.tls) readPair(config.tls);
  const engine = new Engine(config);
  await openRoot(engine, config);
  if (isRemote(config.root))
    log.info({ catalog: place(config.catalog) }, "the catalog of this remote root");
  const shared = new Shared();
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
  const answering = await withVersionCleanUpAnswers(opened, { engine, storageOptions, log });
  const store = withCommitPauses(answering, { engine, storageOptions, log });
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
  shared: Shared,
): Promise<Running> {
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
      versionCleanUp(engine, storageOptions, store),
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
    prewarming: new PrewarmQueue(),
    threads: workers,
    log,
  };
  const unwatch = startOrphanedTableRemoval({
    ...unfinished,
    releaseTable: (table) => releaseTable(services, table),
  });
  const unwatchUploads = startOrphanedPartRemoval(services);
  const unwatchDrops = startRemovalAcknowledgements(services);

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
    bodyLimiter: BodyLimiter.of(config.memoryBytes, shared.bodies),
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
  const unwatchTls = config.tls && watchPair(config.tls, () => void reloadTls());
  void prewarmTables(services, config.prewarm)
    .then(() =>
      rehearsal?.ask({ host: config.host, port, tls: config.tls !== undefined }, config.prewarm),
    )
    .catch((err) => log.warn({ err }, "the server could not ask itself"))
    .finally(() => shared.warming.set(false));
  return {
    port,
    reloadTls: () => (config.tls ? reloadTls() : Promise.resolve()),
    giveUp: () => workers.cutAll(),
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
    const path = await makeFirstKey(keys, firstKeyFile);
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
const place = (url: string): string => url.replace(/(?<=^\w+:\/\/[^:/@]*):[^@]*(?=@)/, "");
