import type { Engine } from "../../../native/index.js";
import { isRemote } from "../../foundation/addresses.js";
import { ErrorCode, JoustError, operatorMessage } from "../../foundation/errors.js";
import type { Logger } from "../../telemetry/logger.js";
import type { Catalog, Declaration, NamespacePath, PageRequest, TableId } from "../catalog.js";
import { formatPath } from "../path.js";
import type { SqlCatalog } from "../sql-catalog.js";
import { mayExist, newLocation } from "../tables/location.js";

/** Least time between two looks at a root because a name was not found, ms. */
const MISS_INTERVAL = 1_000;
/** Age of the last look from which a listing looks again, ms. */
const LISTING_AGE = { local: 1_000, remote: 30_000 };

export interface AdoptionOptions {
  engine: Pick<Engine, "scanRoot" | "contents">;
  root: string;
  storageOptions: Record<string, string>;
  log: Logger;
}

/**
 * The catalog, with the tables that other tools put into the root found when they are asked for.
 * Looks at the root once before it resolves.
 */
export async function adoptTables(
  catalog: SqlCatalog,
  options: AdoptionOptions,
): Promise<AdoptingCatalog> {
  const adopting = new AdoptingCatalog(catalog, options);
  await adopting.look().catch((cause) => {
    const reason = operatorMessage(cause);
    throw new Error(`the tables in ${options.root} cannot be listed: ${reason}`, { cause });
  });
  return adopting;
}

/** See `adoptTables`. */
export class AdoptingCatalog implements Catalog {
  readonly #listingAge: number;
  readonly #warned = new Set<string>();
  #looking: Promise<void> | undefined;
  #looked = Number.NEGATIVE_INFINITY;
  /** As `#looked`, on the clock that requests go by: ms since the epoch. */
  #lookedMillis = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly catalog: SqlCatalog,
    private readonly options: AdoptionOptions,
  ) {
    this.#listingAge = isRemote(options.root) ? LISTING_AGE.remote : LISTING_AGE.local;
  }

  /** Takes in what is new in the root; calls at the same time share one look. */
  look(): Promise<void> {
    this.#looking ??= this.#adopt().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  tableSync(id: TableId) {
    return this.catalog.tableSync(id);
  }

  table(id: TableId) {
    return this.#found(() => this.catalog.table(id));
  }

  describeNamespace(path: NamespacePath) {
    return this.#found(() => this.catalog.describeNamespace(path));
  }

  dropTable(id: TableId, key?: string) {
    return this.#found(() => this.catalog.dropTable(id, key));
  }

  renameTable(id: TableId, target: TableId) {
    return this.#found(() => this.catalog.renameTable(id, target));
  }

  async listNamespaces(parent: NamespacePath, page: PageRequest) {
    await this.#refresh(this.#listingAge, page.minTimestampMillis);
    return this.catalog.listNamespaces(parent, page);
  }

  async listTables(parent: NamespacePath, page: PageRequest, options?: { declared: boolean }) {
    await this.#refresh(this.#listingAge, page.minTimestampMillis);
    return this.catalog.listTables(parent, page, options);
  }

  async listAllTables(page: PageRequest, options?: { declared: boolean }) {
    await this.#refresh(this.#listingAge, page.minTimestampMillis);
    return this.catalog.listAllTables(page, options);
  }

  createNamespace(
    path: NamespacePath,
    mode: "create" | "exist_ok" | "overwrite",
    properties: Record<string, string>,
  ) {
    return this.#found(() => this.catalog.createNamespace(path, mode, properties));
  }

  dropNamespace(
    path: NamespacePath,
    options: { missing: "fail" | "skip"; behavior: "restrict" | "cascade" },
  ) {
    return this.#found(() => this.catalog.dropNamespace(path, options));
  }

  /** A table that another tool has just written takes its name. */
  async reserveTable(id: TableId, options: Parameters<Catalog["reserveTable"]>[1]) {
    const contents = await this.#contentsByName(id);
    await this.#refresh(contents === "table" ? 0 : this.#listingAge);
    const wanted = { ...options, ...taken(contents) };
    return this.#found(() => this.catalog.reserveTable(id, wanted));
  }

  async changeTables(changes: {
    declare?: readonly Declaration[];
    deregister?: readonly TableId[];
  }) {
    const declare: Declaration[] = [];
    for (const one of changes.declare ?? []) {
      const contents = one.location === undefined ? await this.#contentsByName(one.id) : undefined;
      declare.push({ ...one, ...taken(contents) });
    }
    return this.#found(() => this.catalog.changeTables({ ...changes, declare }));
  }

  registerTable(table: Declaration & { location: string }, options: { replace: boolean }) {
    return this.#found(() => this.catalog.registerTable(table, options));
  }

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

  claimFirstVersion(key: string) {
    return this.catalog.claimFirstVersion(key);
  }

  releaseFirstVersion(key: string) {
    return this.catalog.releaseFirstVersion(key);
  }

  confirmTable(key: string) {
    return this.catalog.confirmTable(key);
  }

  tableByKey(key: string) {
    return this.catalog.tableByKey(key);
  }

  tableAt(location: string) {
    return this.catalog.tableAt(location);
  }

  publishTable(key: string) {
    return this.catalog.publishTable(key);
  }

  withdrawTable(key: string) {
    return this.catalog.withdrawTable(key);
  }

  releaseTable(key: string) {
    return this.catalog.releaseTable(key);
  }

  setTableProperties(key: string, properties: Record<string, string>) {
    return this.catalog.setTableProperties(key, properties);
  }

  mergeTableProperties(key: string, properties: Record<string, string>) {
    return this.catalog.mergeTableProperties(key, properties);
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

  /** What is where the name alone would put a table; undefined where it does not say that. */
  async #contentsByName(id: TableId) {
    const { engine, root, storageOptions } = this.options;
    // The directories of tables in namespaces are named by chance.
    if (id.length !== 1) return undefined;
    const location = newLocation(root, id);
    return (await mayExist(location)) ? engine.contents(location, storageOptions) : "nothing";
  }

  /** Runs `ask` again after a look at the root when it misses a namespace or a table. */
  async #found<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (!isMiss(error) || !(await this.#refresh(MISS_INTERVAL))) throw error;
      return ask();
    }
  }

  /**
   * Looks when the last look is older than `age`, ms, or began before `notBefore`; tells whether
   * there was one.
   */
  async #refresh(age: number, notBefore = Number.NEGATIVE_INFINITY): Promise<boolean> {
    const isDue = () => performance.now() - this.#looked >= age || this.#lookedMillis < notBefore;
    if (!this.#looking && !isDue()) return false;
    try {
      await this.#looking;
      // The one that was under way may have begun too early.
      if (isDue()) await this.look();
      return true;
    } catch (err) {
      // The catalog is what counts; a root that cannot be listed must not hide what it knows.
      this.options.log.warn({ err }, "the root could not be looked at for new tables");
      return false;
    }
  }

  async #adopt(): Promise<void> {
    const { engine, root, storageOptions, log } = this.options;
    const started = performance.now();
    const startedMillis = Date.now();
    try {
      const found = await engine.scanRoot(root, storageOptions);
      const { adopted, refused } = await this.catalog.adopt(found, (location) =>
        engine.contents(location, storageOptions),
      );
      for (const table of adopted) log.info({ table: formatPath(table.id) }, "adopted a table");
      const unserved = refused.map(({ table: { location }, reason }) => ({ location, reason }));
      for (const entry of [...found.skipped, ...unserved]) {
        if (this.#warned.has(entry.location)) continue;
        this.#warned.add(entry.location);
        log.warn(entry, "an entry of the root is not served as a table");
      }
    } finally {
      this.#looked = started;
      this.#lookedMillis = startedMillis;
    }
  }
}

const taken = (contents: string | undefined): { taken?: boolean } =>
  contents === undefined ? {} : { taken: contents !== "nothing" };

function isMiss(error: unknown): boolean {
  return (
    error instanceof JoustError &&
    (error.code === ErrorCode.NamespaceNotFound || error.code === ErrorCode.TableNotFound)
  );
}
