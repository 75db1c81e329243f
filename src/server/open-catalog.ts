import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { IdempotentRequests } from "../api/idempotency/idempotency.js";
import { IdempotencyStore } from "../api/idempotency/store.js";
import type { SignedIds } from "../api/transactions/signed-ids.js";
import { TransactionStore } from "../api/transactions/store.js";
import type { Transactions } from "../api/transactions/transactions.js";
import { followMovedRoot } from "../catalog/discovery/moved-root.js";
import { SqlGrants } from "../catalog/grants/store.js";
import { type KeyStore, SqlKeyStore } from "../catalog/keys.js";
import { SqlCatalog } from "../catalog/sql-catalog.js";
import { AutoRefreshes } from "../cluster/auto-refreshes.js";
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
  /** The root of the tables: an absolute path or a URI. */
  root: string;
  /** `postgres://...`, or the path of a SQLite file. */
  url: string;
  log: Logger;
  /**
   * A "server" joins the cluster. A "tool" reads and writes only names and keys: it has no tables in
   * creation and no jobs, and cannot read ids of transactions that have no row.
   */
  role: "server" | "tool";
  /** Postgres: called when the lease of this member is renewed, with the time until it expires, ms. */
  onLease?: (leftMs: number) => void;
  /** Shared with other threads that read the catalog. */
  epoch?: Epoch;
  /** They encrypt the secrets of the catalog; see `secret`. */
  secretKeys?: readonly Uint8Array[];
}

export interface OpenCatalog {
  readonly catalog: SqlCatalog;
  readonly keys: KeyStore;
  readonly grants: SqlGrants;
  readonly jobs: JobStore;
  readonly transactions: Transactions;
  readonly multipart: MultipartWrites;
  readonly idempotency: IdempotentRequests;
  readonly versionCleanUps: VersionCleanUps;
  readonly commitPauses: CommitPauses;
  readonly autoRefreshes: AutoRefreshes;
  close(): Promise<void>;
}

/** Opens the catalog. Creates or upgrades its schema if necessary. @throws code 17 if it cannot be opened */
export async function openCatalog(options: CatalogOptions): Promise<OpenCatalog> {
  const db = await openDatabase(options).catch(rethrow);
  try {
    const signedIds = await openSignedIds(db, options);
    const members = await joinCluster(db, options);
    return openStores(db, members, signedIds, options);
  } catch (error) {
    await db.close();
    throw error;
  }
}

async function openDatabase({ url, epoch, log }: CatalogOptions): Promise<CatalogDatabase> {
  if (isPostgres(url)) {
    // Loaded only if needed: the driver takes a tenth of the time of a start.
    const { openPostgres } = await import("../database/postgres/open.js");
    return openPostgres(url, log);
  }
  try {
    // The catalog holds hashes of keys and options of object stores: only this user may read it.
    await mkdir(dirname(url), { recursive: true, mode: 0o700 });
    return await openSqlite(url, epoch);
  } catch (error) {
    throw diskFault(error, dirname(url), `the catalog ${url}`);
  }
}

async function openSignedIds(
  db: CatalogDatabase,
  { role, secretKeys }: CatalogOptions,
): Promise<SignedIds | undefined> {
  if (role === "tool") return undefined;
  const key = await secret(db, "transaction-ids", secretKeys);
  // Loaded only for servers: it needs the engine, and keys are managed without it.
  const { SignedIds } = await import("../api/transactions/signed-ids.js");
  return new SignedIds(key);
}

/** Registers a server as a member of the cluster. If its root was moved, the catalog is updated. */
async function joinCluster(
  db: CatalogDatabase,
  { root, url, log, role, onLease }: CatalogOptions,
): Promise<ClusterMembers> {
  const postgres = isPostgres(url);
  const locks = postgres ? undefined : new ProcessLocks(url);
  const members = new ClusterMembers(db, log, locks, onLease);
  if (role === "tool") return members;
  await members.join();
  if (!postgres && !isRemote(root)) {
    const moved = await followMovedRoot(db, members, root);
    if (moved) {
      const { former, clones } = moved;
      log.info({ former, root }, "the root was moved: updated the locations of its tables");
      if (clones > 0) {
        log.warn(
          { former, root, clones },
          "shallow clones still read the files of their sources at the former root: move the root back, or put a symbolic link to it there",
        );
      }
    }
  }
  return members;
}

function openStores(
  db: CatalogDatabase,
  members: ClusterMembers,
  signedIds: SignedIds | undefined,
  { root, log, role }: CatalogOptions,
): OpenCatalog {
  const catalog = new SqlCatalog(db, members, root, log);
  const versionCleanUps = new VersionCleanUps(db, members, log);
  return {
    catalog,
    keys: new SqlKeyStore(db),
    grants: new SqlGrants(db),
    jobs: new JobStore(db, members),
    transactions: new TransactionStore(db, signedIds),
    multipart: new MultipartStore(db, members),
    idempotency: new IdempotencyStore(db, members),
    versionCleanUps,
    commitPauses: new CommitPauses(db, members),
    autoRefreshes: new AutoRefreshes(db, members),
    async close() {
      await Promise.all([catalog.close(), versionCleanUps.close()]);
      try {
        if (role === "server") await members.leave();
      } finally {
        await db.close();
      }
    },
  };
}
