import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { IdempotentRequests } from "../api/idempotency/idempotency.js";
import { IdempotencyStore } from "../api/idempotency/store.js";
import { TransactionStore } from "../api/transactions/store.js";
import type { Transactions } from "../api/transactions/transactions.js";
import { followMovedRoot } from "../catalog/discovery/moved-root.js";
import { type KeyStore, SqlKeyStore } from "../catalog/keys.js";
import { SqlCatalog } from "../catalog/sql-catalog.js";
import { CommitPauses } from "../cluster/commit-pauses.js";
import { ClusterMembers } from "../cluster/members.js";
import { ProcessLocks } from "../cluster/process-locks.js";
import { VersionCleanUps } from "../cluster/version-clean-ups.js";
import type { CatalogDatabase } from "../database/database.js";
import { secret } from "../database/secret.js";
import { rethrow } from "../database/sql-error.js";
import { openSqlite } from "../database/sqlite/open.js";
import type { Epoch } from "../database/sqlite/reader.js";
import { isPostgres, isRemote } from "../foundation/addresses.js";
import { diskFault } from "../foundation/disk-fault.js";
import { JobStore } from "../jobs/store.js";
import type { MultipartWrites } from "../multipart/multipart.js";
import { MultipartStore } from "../multipart/store.js";
import type { Logger } from "../telemetry/logger.js";

export interface CatalogOptions {
  /** Where tables are: an absolute path or a URI. */
  root: string;
  /** `postgres://...`, or the path of a SQLite file. */
  url: string;
  log: Logger;
  /**
   * A "tool" only reads and writes names and keys; it owns no tables in the making and no jobs, and reads no
   * ids of transactions that have no row.
   */
  role: "server" | "tool";
  /** Postgres: other servers leave alone what this one is at for so long from now on, ms. */
  onLease?: (leftMs: number) => void;
  /** Shared with other threads that read the catalog. */
  epoch?: Epoch;
}

export interface OpenCatalog {
  readonly catalog: SqlCatalog;
  readonly keys: KeyStore;
  readonly jobs: JobStore;
  readonly transactions: Transactions;
  readonly multipart: MultipartWrites;
  readonly idempotency: IdempotentRequests;
  readonly versionCleanUps: VersionCleanUps;
  readonly commitPauses: CommitPauses;
  close(): Promise<void>;
}

/** Its driver is loaded where it is needed: that takes a tenth of a start. */
const openPostgres = async (url: string, log: Logger) =>
  (await import("../database/postgres/open.js")).openPostgres(url, log);

/** The engine is loaded where it is needed: keys are made without it. */
const openSealedIds = async (key: Buffer) =>
  new (await import("../api/transactions/signed-ids.js")).SignedIds(key);

async function openFile(path: string, epoch: Epoch | undefined): Promise<CatalogDatabase> {
  try {
    // The catalog holds hashes of keys and options of stores: nothing for other users of the host.
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return await openSqlite(path, epoch);
  } catch (error) {
    throw diskFault(error, dirname(path), `the catalog ${path}`);
  }
}

/** Opens the catalog, which is made or brought up to date if need be. Code 17 when it cannot be. */
export async function openCatalog(options: CatalogOptions): Promise<OpenCatalog> {
  const { root, url, log, role, epoch, onLease } = options;
  const postgres = isPostgres(url);
  const db = await (postgres ? openPostgres(url, log) : openFile(url, epoch)).catch(rethrow);
  try {
    const key = await secret(db, "transaction-ids");
    const sealedIds = role === "server" ? await openSealedIds(key) : undefined;
    const servers = new ClusterMembers(
      db,
      log,
      postgres ? undefined : new ProcessLocks(url),
      onLease,
    );
    if (role === "server") {
      await servers.join();
      if (!postgres && !isRemote(root)) {
        const former = await followMovedRoot(db, servers, root);
        if (former !== undefined) log.info({ former, root }, "the root was moved: tables follow");
      }
    }
    const catalog = new SqlCatalog(db, servers, root, log);
    const versionCleanUps = new VersionCleanUps(db, servers, log);
    return {
      catalog,
      keys: new SqlKeyStore(db),
      jobs: new JobStore(db, servers),
      transactions: new TransactionStore(db, sealedIds),
      multipart: new MultipartStore(db, servers),
      idempotency: new IdempotencyStore(db, servers),
      versionCleanUps,
      commitPauses: new CommitPauses(db, servers),
      async close() {
        await Promise.all([catalog.close(), versionCleanUps.close()]);
        try {
          if (role === "server") await servers.leave();
        } finally {
          await db.close();
        }
      },
    };
  } catch (error) {
    await db.close();
    throw error;
  }
}
