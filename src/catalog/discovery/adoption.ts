import type { Engine } from "../../../native/index.js";
import { isRemote } from "../../foundation/addresses.js";
import { ErrorCode, JoustError, operatorMessage } from "../../foundation/errors.js";
import type { Logger } from "../../telemetry/logger.js";
import type {
  Catalog,
  Declaration,
  ListingOptions,
  NamespacePath,
  PageRequest,
  ReserveOptions,
  TableId,
} from "../catalog.js";
import type { VisibleObjects } from "../grants/visible-objects.js";
import { formatPath } from "../path.js";
import type { SqlCatalog } from "../sql-catalog.js";
import { mayExist, newLocation } from "../tables/location.js";

/** Least time between two scans of a root because a name was not found, ms. */
const MISS_INTERVAL = 1_000;
/** A listing scans the root again when the last scan is older than this, ms. */
const LISTING_AGE = { local: 1_000, remote: 30_000 };

export interface AdoptionOptions {
  engine: Pick<Engine, "scanRoot" | "contents">;
  root: string;
  storageOptions: Record<string, string>;
  log: Logger;
}

/**
 * Wraps a catalog so that it adopts tables that other tools put into the root. Scans the root once before it resolves,
 * and later when a name is not found or a listing is due.
 */
export async function adoptTables(
  catalog: SqlCatalog,
  options: AdoptionOptions,
): Promise<AdoptingCatalog> {
  const adopting = new AdoptingCatalog(catalog, options);
  await adopting.scan().catch((cause) => {
    const reason = operatorMessage(cause);
    throw new Error(`the tables in ${options.root} cannot be listed: ${reason}`, { cause });
  });
  return adopting;
}

/** See `adoptTables`. */
export class AdoptingCatalog implements Catalog {
  readonly #listingAge: number;
  readonly #warned = new Set<string>();
  #scanning: Promise<void> | undefined;
  /** Start of the last scan, by `performance.now()`. */
  #lastScan = Number.NEGATIVE_INFINITY;
  /** The same by the clock of requests, ms since the epoch. */
  #lastScanMillis = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly catalog: SqlCatalog,
    private readonly options: AdoptionOptions,
  ) {
    this.#listingAge = isRemote(options.root) ? LISTING_AGE.remote : LISTING_AGE.local;
  }

  /** Adopts what is new in the root. Concurrent calls share one scan. */
  scan(): Promise<void> {
    this.#scanning ??= this.#scanAndAdopt().finally(() => {
      this.#scanning = undefined;
    });
    return this.#scanning;
  }

  // Namespaces.

  createNamespace(
    path: NamespacePath,
    mode: "create" | "exist_ok" | "overwrite",
    properties: Record<string, string>,
  ) {
    return this.#scanOnMiss(() => this.catalog.createNamespace(path, mode, properties));
  }

  describeNamespace(path: NamespacePath) {
    return this.#scanOnMiss(() => this.catalog.describeNamespace(path));
  }

  async listNamespaces(
    parent: NamespacePath,
    page: PageRequest,
    options?: { visible?: VisibleObjects },
  ) {
    await this.#scanIfOlder(this.#listingAge, page.minTimestampMillis);
    return this.catalog.listNamespaces(parent, page, options);
  }

  dropNamespace(
    path: NamespacePath,
    options: { missing: "fail" | "skip"; behavior: "restrict" | "cascade" },
  ) {
    return this.#scanOnMiss(() => this.catalog.dropNamespace(path, options));
  }

  isDatabase(name: string) {
    return this.catalog.isDatabase(name);
  }

  isDatabaseSync(name: string) {
    return this.catalog.isDatabaseSync(name);
  }

  // Lookup of live tables.

  table(id: TableId) {
    return this.#scanOnMiss(() => this.catalog.table(id));
  }

  tableSync(id: TableId) {
    return this.catalog.tableSync(id);
  }

  tableByKey(key: string) {
    return this.catalog.tableByKey(key);
  }

  tableAt(location: string) {
    return this.catalog.tableAt(location);
  }

  async listTables(parent: NamespacePath, page: PageRequest, options?: ListingOptions) {
    await this.#scanIfOlder(this.#listingAge, page.minTimestampMillis);
    return this.catalog.listTables(parent, page, options);
  }

  async listAllTables(page: PageRequest, options?: ListingOptions) {
    await this.#scanIfOlder(this.#listingAge, page.minTimestampMillis);
    return this.catalog.listAllTables(page, options);
  }

  // Creation of a table.

  /** Fails when another tool has just written a table of that name. */
  async reserveTable(id: TableId, options: ReserveOptions) {
    const contents = await this.#contentsAtDefaultLocation(id);
    await this.#scanIfOlder(contents === "table" ? 0 : this.#listingAge);
    const reserve = { ...options, ...locationState(contents) };
    return this.#scanOnMiss(() => this.catalog.reserveTable(id, reserve));
  }

  activateTable(key: string) {
    return this.catalog.activateTable(key);
  }

  withdrawTable(key: string) {
    return this.catalog.withdrawTable(key);
  }

  releaseTable(key: string) {
    return this.catalog.releaseTable(key);
  }

  // Changes of live tables.

  setTableProperties(key: string, properties: Record<string, string>) {
    return this.catalog.setTableProperties(key, properties);
  }

  mergeTableProperties(key: string, properties: Record<string, string>) {
    return this.catalog.mergeTableProperties(key, properties);
  }

  renameTable(id: TableId, target: TableId) {
    return this.#scanOnMiss(() => this.catalog.renameTable(id, target));
  }

  replaceTable(id: TableId, target: TableId, key: string) {
    return this.catalog.replaceTable(id, target, key);
  }

  // Registration of tables whose files exist or are written by clients.

  async changeTables(changes: {
    declare?: readonly Declaration[];
    deregister?: readonly TableId[];
  }) {
    const declare: Declaration[] = [];
    for (const declaration of changes.declare ?? []) {
      const { id, location } = declaration;
      const contents =
        location === undefined ? await this.#contentsAtDefaultLocation(id) : undefined;
      declare.push({ ...declaration, ...locationState(contents) });
    }
    return this.#scanOnMiss(() => this.catalog.changeTables({ ...changes, declare }));
  }

  registerTable(table: Declaration & { location: string }, options: { replace: boolean }) {
    return this.#scanOnMiss(() => this.catalog.registerTable(table, options));
  }

  claimFirstVersion(key: string) {
    return this.catalog.claimFirstVersion(key);
  }

  releaseFirstVersion(key: string) {
    return this.catalog.releaseFirstVersion(key);
  }

  confirmTable(key: string) {
    return this.catalog.confirmTable(key);
  }

  // Shallow clones.

  cloneSource(location: string) {
    return this.catalog.cloneSource(location);
  }

  hasClones(location: string, tag?: string) {
    return this.catalog.hasClones(location, tag);
  }

  // Removal of dropped and orphaned tables.

  dropTable(id: TableId, key?: string) {
    return this.#scanOnMiss(() => this.catalog.dropTable(id, key));
  }

  ownsDropped(key: string) {
    return this.catalog.ownsDropped(key);
  }

  forgetTable(key: string) {
    return this.catalog.forgetTable(key);
  }

  orphanTable(key: string) {
    return this.catalog.orphanTable(key);
  }

  claimOrphanedTables() {
    return this.catalog.claimOrphanedTables();
  }

  // Agreement with the other members of the cluster.

  takeLease(name: string, interval: number) {
    return this.catalog.takeLease(name, interval);
  }

  lockReferences(key: string) {
    return this.catalog.lockReferences(key);
  }

  unlockReferences(key: string) {
    this.catalog.unlockReferences(key);
  }

  removalsToAcknowledge() {
    return this.catalog.removalsToAcknowledge();
  }

  acknowledgeRemoval(key: string) {
    return this.catalog.acknowledgeRemoval(key);
  }

  awaitRemovalAcknowledgements(key: string) {
    return this.catalog.awaitRemovalAcknowledgements(key);
  }

  // Scans.

  /** Returns what is stored at the default location of a name; undefined when the name has none. */
  async #contentsAtDefaultLocation(id: TableId) {
    const { engine, root, storageOptions } = this.options;
    // Tables in namespaces have random directory names.
    if (id.length !== 1) return undefined;
    const location = newLocation(root, id);
    return (await mayExist(location)) ? engine.contents(location, storageOptions) : "nothing";
  }

  /** Runs `query`. When it misses a namespace or a table, scans the root and runs it again. */
  async #scanOnMiss<T>(query: () => Promise<T>): Promise<T> {
    try {
      return await query();
    } catch (error) {
      if (!isMiss(error) || !(await this.#scanIfOlder(MISS_INTERVAL))) throw error;
      return query();
    }
  }

  /**
   * Scans the root when the last scan is older than `age`, ms, or began before `notBefore`. Returns whether a scan
   * succeeded.
   */
  async #scanIfOlder(age: number, notBefore = Number.NEGATIVE_INFINITY): Promise<boolean> {
    const isDue = () =>
      performance.now() - this.#lastScan >= age || this.#lastScanMillis < notBefore;
    if (!this.#scanning && !isDue()) return false;
    try {
      await this.#scanning;
      // The scan that was running may have begun too early.
      if (isDue()) await this.scan();
      return true;
    } catch (err) {
      // The catalog still answers: a root that cannot be listed must not hide the tables it holds.
      this.options.log.warn({ err }, "the root could not be scanned for new tables");
      return false;
    }
  }

  async #scanAndAdopt(): Promise<void> {
    const { engine, root, storageOptions, log } = this.options;
    const started = performance.now();
    const startedMillis = Date.now();
    try {
      const listing = await engine.scanRoot(root, storageOptions);
      const { adopted, refused } = await this.catalog.adopt(listing, (location) =>
        engine.contents(location, storageOptions),
      );
      for (const table of adopted) log.info({ table: formatPath(table.id) }, "adopted a table");
      const unserved = refused.map(({ table: { location }, reason }) => ({ location, reason }));
      for (const entry of [...listing.skipped, ...unserved]) {
        if (this.#warned.has(entry.location)) continue;
        this.#warned.add(entry.location);
        log.warn(entry, "an entry of the root is not served as a table");
      }
    } finally {
      this.#lastScan = started;
      this.#lastScanMillis = startedMillis;
    }
  }
}

const locationState = (contents: string | undefined): { isLocationTaken?: boolean } =>
  contents === undefined ? {} : { isLocationTaken: contents !== "nothing" };

function isMiss(error: unknown): boolean {
  return (
    error instanceof JoustError &&
    (error.code === ErrorCode.NamespaceNotFound || error.code === ErrorCode.TableNotFound)
  );
}
