import { takeLease } from "../cluster/leases.js";
import type { ClusterMembers } from "../cluster/members.js";
import { ReferenceLocks } from "../cluster/reference-locks.js";
import {
  acknowledgeRemoval,
  awaitRemovalAcknowledgements,
  removalsToAcknowledge,
} from "../cluster/removal-acknowledgements.js";
import { RetryQueue } from "../cluster/retry-queue.js";
import type { CatalogDatabase } from "../database/database.js";
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
import { claimOrphanedTables, orphanTable } from "./tables/orphaned-tables.js";
import {
  changeTables,
  claimFirstVersion,
  confirmTable,
  registerTable,
  releaseFirstVersion,
} from "./tables/registration.js";
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

  constructor(
    private readonly db: CatalogDatabase,
    private readonly members: ClusterMembers,
    private readonly root: string,
    log: Logger,
  ) {
    this.#retryQueue = new RetryQueue(log);
    this.#referenceLocks = new ReferenceLocks(db, members, this.#retryQueue);
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
    return createNamespace(this.db, this.members.self, path, mode, properties);
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
    return dropNamespace(this.db, this.members.self, path, options);
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

  reserveTable(id: TableId, options: ReserveOptions) {
    return reserveTable(this.db, this.members.self, this.root, id, options);
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
    return replaceTable(this.db, this.members.self, id, target, key);
  }

  // Registration of tables whose files exist or are written by clients.

  changeTables(changes: { declare?: readonly Declaration[]; deregister?: readonly TableId[] }) {
    return changeTables(this.db, this.members.self, this.root, changes);
  }

  registerTable(table: Declaration & { location: string }, options: { replace: boolean }) {
    return registerTable(this.db, this.members.self, table, options);
  }

  async claimFirstVersion(key: string) {
    // An earlier release that is still pending would end the new claim.
    await this.#retryQueue.flush(`release ${key}`);
    return claimFirstVersion(this.db, this.members, key);
  }

  releaseFirstVersion(key: string) {
    return this.#retryQueue.run(`release ${key}`, () =>
      releaseFirstVersion(this.db, this.members, key),
    );
  }

  confirmTable(key: string) {
    return confirmTable(this.db, key);
  }

  // Removal of dropped and orphaned tables.

  dropTable(id: TableId, key?: string) {
    return dropTable(this.db, this.members.self, id, key);
  }

  ownsDropped(key: string) {
    return ownsDropped(this.db, this.members.self, key);
  }

  forgetTable(key: string) {
    return deleteRow(this.db, this.members.self, key);
  }

  orphanTable(key: string) {
    return this.#retryQueue.run(`orphan ${key}`, () =>
      orphanTable(this.db, this.members.self, key),
    );
  }

  claimOrphanedTables() {
    return claimOrphanedTables(this.db, this.members);
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
}
