import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { JobStore } from "../jobs/store.js";
import type { Requests } from "../requests/requests.js";
import { RequestStore } from "../requests/store.js";
import type { Logger } from "../telemetry/logger.js";
import { TransactionStore } from "../transactions/store.js";
import type { Transactions } from "../transactions/transactions.js";
import { UploadStore } from "../uploads/store.js";
import type { Uploads } from "../uploads/uploads.js";
import { CleanUps } from "./clean-ups.js";
import { CommitPauses } from "./commit-pauses.js";
import type { CatalogDatabase } from "./database.js";
import { diskFault } from "./disk-fault.js";
import { type KeyStore, SqlKeyStore } from "./keys.js";
import { isRemote } from "./location.js";
import { followMovedRoot } from "./moved-root.js";
import { secret } from "./secret.js";
import { Servers } from "./servers.js";
import { SqlCatalog } from "./sql-catalog.js";
import { rethrow } from "./sql-error.js";
import { Members } from "./sqlite/members.js";
import { openSqlite } from "./sqlite/open.js";
import type { Epoch } from "./sqlite/reader.js";

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
  readonly uploads: Uploads;
  readonly requests: Requests;
  readonly cleanUps: CleanUps;
  readonly commitPauses: CommitPauses;
  close(): Promise<void>;
}

export const isPostgres = (url: string): boolean => /^postgres(ql)?:\/\//.test(url);

/** Its driver is loaded where it is needed: that takes a tenth of a start. */
const openPostgres = async (url: string, log: Logger) =>
  (await import("./postgres/open.js")).openPostgres(url, log);

/** The engine is loaded where it is needed: keys are made without it. */
const openSealedIds = async (key: Buffer) =>
  new (await import("../transactions/sealed-ids.js")).SealedIds(key);

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
    const servers = new Servers(db, log, postgres ? undefined : new Members(url), onLease);
    if (role === "server") {
      await servers.join();
      if (!postgres && !isRemote(root)) {
        const former = await followMovedRoot(db, servers, root);
        if (former !== undefined) log.info({ former, root }, "the root was moved: tables follow");
      }
    }
    const catalog = new SqlCatalog(db, servers, root, log);
    const cleanUps = new CleanUps(db, servers, log);
    return {
      catalog,
      keys: new SqlKeyStore(db),
      jobs: new JobStore(db, servers),
      transactions: new TransactionStore(db, sealedIds),
      uploads: new UploadStore(db, servers),
      requests: new RequestStore(db, servers),
      cleanUps,
      commitPauses: new CommitPauses(db, servers),
      async close() {
        await Promise.all([catalog.close(), cleanUps.close()]);
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
