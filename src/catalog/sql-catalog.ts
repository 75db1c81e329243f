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
import type { Catalog, Declaration, NamespacePath, PageRequest, TableId } from "./catalog.js";
import { adoptFound, type ContentsOf, type Found } from "./discovery/adopt-found.js";
import { listAllTables, listNamespaces, listTables } from "./listings.js";
import { describeNamespace, findLiveTable, findTable, tableCache } from "./lookup.js";
import { createNamespace, dropNamespace } from "./namespaces.js";
import { encodePath } from "./path.js";
import { claimOrphanedTables, orphanTable } from "./tables/orphaned-tables.js";
import {
  changeTables,
  claimFirstVersion,
  confirmTable,
  registerTable,
  releaseFirstVersion,
} from "./tables/registration.js";
import {
  deleteRow,
  dropTable,
  mergeTableProperties,
  publishTable,
  renameTable,
  reserveTable,
  setTableProperties,
  withdrawTable,
} from "./tables/tables.js";

/** The catalog in SQL: each method is one statement or one transaction of the files beside this. */
export class SqlCatalog implements Catalog {
  readonly #cache: ReturnType<typeof tableCache>;
  readonly #sure: RetryQueue;
  readonly #references: ReferenceLocks;

  constructor(
    private readonly db: CatalogDatabase,
    private readonly servers: ClusterMembers,
    private readonly root: string,
    log: Logger,
  ) {
    this.#sure = new RetryQueue(log);
    this.#references = new ReferenceLocks(db, servers, this.#sure);
    this.#cache = tableCache(db);
  }

  createNamespace(
    path: NamespacePath,
    mode: "create" | "exist_ok" | "overwrite",
    properties: Record<string, string>,
  ) {
    return createNamespace(this.db, this.servers.self, path, mode, properties);
  }

  describeNamespace(path: NamespacePath) {
    return describeNamespace(this.db, path);
  }

  listNamespaces(parent: NamespacePath, page: PageRequest) {
    return listNamespaces(this.db, parent, page);
  }

  dropNamespace(
    path: NamespacePath,
    options: { missing: "fail" | "skip"; behavior: "restrict" | "cascade" },
  ) {
    return dropNamespace(this.db, this.servers.self, path, options);
  }

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

  listTables(parent: NamespacePath, page: PageRequest, options?: { declared: boolean }) {
    return listTables(this.db, parent, page, options);
  }

  listAllTables(page: PageRequest, options?: { declared: boolean }) {
    return listAllTables(this.db, page, options);
  }

  reserveTable(
    id: TableId,
    options: {
      properties: Record<string, string>;
      storageOptions: Record<string, string>;
      key?: string;
      taken?: boolean;
    },
  ) {
    return reserveTable(this.db, this.servers.self, this.root, id, options);
  }

  publishTable(key: string) {
    return publishTable(this.db, key);
  }

  withdrawTable(key: string) {
    return withdrawTable(this.db, this.servers.self, key);
  }

  releaseTable(key: string) {
    return deleteRow(this.db, key);
  }

  changeTables(changes: { declare?: readonly Declaration[]; deregister?: readonly TableId[] }) {
    return changeTables(this.db, this.servers.self, this.root, changes);
  }

  registerTable(table: Declaration & { location: string }, options: { replace: boolean }) {
    return registerTable(this.db, this.servers.self, table, options);
  }

  async claimFirstVersion(key: string) {
    await this.#sure.finish(`release ${key}`);
    return claimFirstVersion(this.db, this.servers, key);
  }

  releaseFirstVersion(key: string) {
    return this.#sure.write(`release ${key}`, () =>
      releaseFirstVersion(this.db, this.servers, key),
    );
  }

  confirmTable(key: string) {
    return confirmTable(this.db, key);
  }

  setTableProperties(key: string, properties: Record<string, string>) {
    return setTableProperties(this.db, key, properties);
  }

  mergeTableProperties(key: string, properties: Record<string, string>) {
    return mergeTableProperties(this.db, key, properties);
  }

  dropTable(id: TableId, key?: string) {
    return dropTable(this.db, this.servers.self, id, key);
  }

  forgetTable(key: string) {
    return deleteRow(this.db, key);
  }

  renameTable(id: TableId, target: TableId) {
    return renameTable(this.db, id, target);
  }

  orphanTable(key: string) {
    return this.#sure.write(`abandon ${key}`, () => orphanTable(this.db, this.servers.self, key));
  }

  claimOrphanedTables() {
    return claimOrphanedTables(this.db, this.servers);
  }

  takeLease(name: string, interval: number) {
    return takeLease(this.db, this.servers, name, interval);
  }

  lockReferences(key: string) {
    return this.#references.lock(key);
  }

  unlockReferences(key: string) {
    this.#references.unlock(key);
  }

  removalsToAcknowledge() {
    return removalsToAcknowledge(this.db, this.servers);
  }

  acknowledgeRemoval(key: string) {
    return acknowledgeRemoval(this.db, this.servers, key);
  }

  awaitRemovalAcknowledgements(key: string) {
    return awaitRemovalAcknowledgements(this.db, this.servers, key);
  }

  /** Ends what it still tries to tell the database. */
  close(): Promise<void> {
    return this.#sure.close();
  }

  /** Takes in what other tools put into the root; see adopt-found.ts. */
  adopt(found: Found, contentsOf: ContentsOf) {
    return adoptFound(this.db, this.servers.self, found, contentsOf);
  }
}
