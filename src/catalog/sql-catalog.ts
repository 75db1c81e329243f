import { randomUUID } from "node:crypto";
import { takeLease } from "../cluster/leases.js";
import type { ClusterMembers } from "../cluster/members.js";
import { ReferenceLocks } from "../cluster/reference-locks.js";
import {
  acknowledgeRemoval,
  awaitRemovalAcknowledgements,
  removalsToAcknowledge,
} from "../cluster/removal-acknowledgements.js";
import { RetryQueue } from "../cluster/retry-queue.js";
import { withCommitLock } from "../database/commit-lock.js";
import type { CatalogDatabase } from "../database/database.js";
import { OutcomeUnknown } from "../database/sql-error.js";
import type { Logger } from "../telemetry/logger.js";
import type {
  Catalog,
  Declaration,
  ListingOptions,
  NamespacePath,
  PageRequest,
  ReserveOptions,
  TableId,
} from "./catalog.js";
import { DatabaseNames } from "./databases.js";
import {
  adoptRootListing,
  type ContentsOf,
  type RootListing,
} from "./discovery/adopt-root-listing.js";
import type { VisibleObjects } from "./grants/visible-objects.js";
import { listAllTables, listNamespaces, listTables } from "./listings.js";
import { describeNamespace, findLiveTable, findTable, tableCache } from "./lookup.js";
import { createNamespace, dropNamespace } from "./namespaces.js";
import { encodePath } from "./path.js";
import { cloneSource, hasClones } from "./tables/clones.js";
import { claimOrphanedTables, ORPHAN, orphanTables } from "./tables/orphaned-tables.js";
import {
  changeTables,
  claimFirstVersion,
  confirmTable,
  registerTable,
  releaseFirstVersion,
} from "./tables/registration.js";
import { TableDrops } from "./tables/table-drops.js";
import {
  activateTable,
  deleteRow,
  dropTable,
  mergeTableProperties,
  ownsDropped,
  renameTable,
  replaceTable,
  reserveTable,
  setTableProperties,
  withdrawTable,
} from "./tables/tables.js";

/** The catalog in SQL: each method is one statement or one transaction of the files beside this one. */
export class SqlCatalog implements Catalog {
  readonly #cache: ReturnType<typeof tableCache>;
  readonly #databases: DatabaseNames;
  readonly #retryQueue: RetryQueue;
  readonly #referenceLocks: ReferenceLocks;
  readonly #drops: TableDrops;
  /** The tables for whose first version this server holds or requests the claim. */
  readonly #firstVersions = new Set<string>();

  constructor(
    private readonly db: CatalogDatabase,
    private readonly members: ClusterMembers,
    private readonly root: string,
    log: Logger,
  ) {
    this.#retryQueue = new RetryQueue(log);
    this.#referenceLocks = new ReferenceLocks(db, members, this.#retryQueue);
    this.#drops = new TableDrops(db, members.self, this.#retryQueue);
    this.#cache = tableCache(db);
    this.#databases = new DatabaseNames(db);
  }

  /** Stops the retries of failed writes. */
  close(): Promise<void> {
    return this.#retryQueue.close();
  }

  // Namespaces.

  createNamespace(
    path: NamespacePath,
    mode: "create" | "exist_ok" | "overwrite",
    properties: Record<string, string>,
  ) {
    return this.#drops.run((db, drop) => createNamespace(db, drop, path, mode, properties));
  }

  describeNamespace(path: NamespacePath) {
    return describeNamespace(this.db, path);
  }

  listNamespaces(parent: NamespacePath, page: PageRequest, options?: { visible?: VisibleObjects }) {
    return listNamespaces(this.db, parent, page, options);
  }

  dropNamespace(
    path: NamespacePath,
    options: { missing: "fail" | "skip"; behavior: "restrict" | "cascade" },
  ) {
    return this.#drops.run((db, drop) => dropNamespace(db, drop, path, options));
  }

  async isDatabase(name: string) {
    return this.isDatabaseSync(name) ?? this.#databases.isDatabase(name);
  }

  isDatabaseSync(name: string) {
    return this.#databases.isDatabaseSync(name);
  }

  // Lookup of live tables.

  async table(id: TableId) {
    return this.tableSync(id) ?? findTable(this.db, id);
  }

  tableSync(id: TableId) {
    return this.#cache?.get(encodePath(id));
  }

  tableByKey(key: string) {
    return findLiveTable(this.db, "key", key);
  }

  tableAt(location: string) {
    return findLiveTable(this.db, "location", location);
  }

  listTables(parent: NamespacePath, page: PageRequest, options?: ListingOptions) {
    return listTables(this.db, parent, page, options);
  }

  listAllTables(page: PageRequest, options?: ListingOptions) {
    return listAllTables(this.db, page, options);
  }

  // Creation of a table.

  async reserveTable(id: TableId, options: ReserveOptions) {
    const { key = randomUUID() } = options;
    const { self } = this.members;
    const db = withCommitLock(this.db);
    try {
      return await reserveTable(db, self, this.root, id, { ...options, key });
    } catch (error) {
      if (error instanceof OutcomeUnknown) {
        await this.#retryQueue.run(`${ORPHAN}${key}`, () => orphanTables(db, self, [key]));
      }
      throw error;
    }
  }

  activateTable(key: string) {
    return activateTable(this.db, key);
  }

  withdrawTable(key: string) {
    return withdrawTable(this.db, this.members.self, key);
  }

  releaseTable(key: string) {
    return deleteRow(this.db, this.members.self, key);
  }

  // Shallow clones.

  cloneSource(location: string) {
    return cloneSource(this.db, location);
  }

  hasClones(location: string, tag?: string) {
    return hasClones(this.db, location, tag);
  }

  // Changes of live tables.

  setTableProperties(key: string, properties: Record<string, string>) {
    return setTableProperties(this.db, key, properties);
  }

  mergeTableProperties(key: string, properties: Record<string, string>) {
    return mergeTableProperties(this.db, key, properties);
  }

  renameTable(id: TableId, target: TableId) {
    return renameTable(this.db, id, target);
  }

  replaceTable(id: TableId, target: TableId, key: string) {
    return this.#drops.run((db, drop) => replaceTable(db, drop, id, target, key));
  }

  // Registration of tables whose files exist or are written by clients.

  changeTables(changes: { declare?: readonly Declaration[]; deregister?: readonly TableId[] }) {
    return changeTables(this.db, this.members.self, this.root, changes);
  }

  registerTable(table: Declaration & { location: string }, options: { replace: boolean }) {
    return registerTable(this.db, this.members.self, table, options);
  }

  async claimFirstVersion(key: string) {
    // The release below would end the claim of another request of this server.
    if (this.#firstVersions.has(key)) return false;
    this.#firstVersions.add(key);
    const db = withCommitLock(this.db);
    try {
      // An earlier release that is still pending would end the new claim.
      await this.#retryQueue.flush(`release ${key}`);
      const isClaimed = await claimFirstVersion(db, this.members, key);
      if (!isClaimed) this.#firstVersions.delete(key);
      return isClaimed;
    } catch (error) {
      if (error instanceof OutcomeUnknown) await this.#releaseFirstVersion(db, key);
      this.#firstVersions.delete(key);
      throw error;
    }
  }

  async releaseFirstVersion(key: string) {
    await this.#releaseFirstVersion(this.db, key);
    this.#firstVersions.delete(key);
  }

  async confirmTable(key: string) {
    await confirmTable(this.db, key);
    this.#firstVersions.delete(key);
  }

  // Removal of dropped and orphaned tables.

  dropTable(id: TableId, key?: string) {
    return this.#drops.run((db, drop) => dropTable(db, drop, id, key));
  }

  ownsDropped(key: string) {
    return ownsDropped(this.db, this.members.self, key);
  }

  async forgetTable(key: string) {
    await deleteRow(this.db, this.members.self, key);
    this.#drops.end(key);
  }

  async orphanTable(key: string) {
    this.#drops.end(key);
    await this.#retryQueue.run(`${ORPHAN}${key}`, () =>
      orphanTables(this.db, this.members.self, [key]),
    );
  }

  claimOrphanedTables() {
    return this.#drops.run((db, drop) => claimOrphanedTables(db, this.members, drop));
  }

  // Agreement with the other members of the cluster.

  takeLease(name: string, interval: number) {
    return takeLease(this.db, this.members, name, interval);
  }

  lockReferences(key: string) {
    return this.#referenceLocks.lock(key);
  }

  unlockReferences(key: string) {
    this.#referenceLocks.unlock(key);
  }

  removalsToAcknowledge() {
    return removalsToAcknowledge(this.db, this.members);
  }

  acknowledgeRemoval(key: string) {
    return acknowledgeRemoval(this.db, this.members, key);
  }

  awaitRemovalAcknowledgements(key: string) {
    return awaitRemovalAcknowledgements(this.db, this.members, key);
  }

  // Adoption; not part of `Catalog`.

  /** Adopts what other tools created in the root; see adopt-root-listing.ts. */
  adopt(listing: RootListing, contentsOf: ContentsOf) {
    return adoptRootListing(this.db, this.members.self, listing, contentsOf);
  }

  #releaseFirstVersion(db: CatalogDatabase, key: string): Promise<void> {
    return this.#retryQueue.run(`release ${key}`, () => releaseFirstVersion(db, this.members, key));
  }
}
