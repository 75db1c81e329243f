/**
 * Requests in a database: LanceDB's name for a namespace of the root that a connection selects. The ids that such a
 * request sends and gets are relative to it. Everything behind the pipeline sees complete ids.
 */
import type { Catalog, NamespacePath, TableId } from "../catalog/catalog.js";
import { namespaceNotFound, tableNotFound } from "../catalog/failures.js";
import { noTableName } from "../catalog/names.js";
import { encodePath, formatPath } from "../catalog/path.js";
import { ErrorCode, invalidInput, JoustError } from "../foundation/errors.js";
import { mergeObjects } from "../foundation/merge-objects.js";
import { override } from "../foundation/override.js";
import { jobNotFound } from "../jobs/failures.js";
import type { Call, Operation, Reply } from "./operation.js";
import type { Services } from "./services.js";
import { changedObject } from "./transactions/changed-object.js";
import { transactionNotFound } from "./transactions/store.js";

/** The names in the content of a request, for an operation whose body or reply has some. */
export interface ContentNames {
  /** The same body with complete ids. */
  // biome-ignore lint/suspicious/noExplicitAny: as for Operation.handle
  body?(payload: any, database: NamespacePath): unknown;
  /** The same value of a JSON reply with ids that are relative to the database. */
  // biome-ignore lint/suspicious/noExplicitAny: as for Operation.handle
  reply?(value: any, database: NamespacePath): unknown;
}

/** The complete id of the object in the path of a request. `id`: as the client sent it. */
export function idInDatabase(
  { access, path }: Pick<Operation, "access" | "path">,
  id: readonly string[],
  database: NamespacePath,
): readonly string[] {
  if (database.length === 0 || access.on === "transaction object") return id;
  // Without a name there is no table: the handler refuses it, and the database must not stand for one.
  return id.length === 0 && !path.startsWith("/v1/namespace/") ? id : [...database, ...id];
}

/** The part of a complete id below the database. The id of an object outside of it stays complete. */
export const idBelow = (database: NamespacePath, id: readonly string[]): string[] =>
  isBelow(database, id) ? id.slice(database.length) : [...id];

/** An entry of a body or a reply with a complete id. */
export const inDatabase = <T extends { id?: readonly string[] }>(
  entry: T,
  database: NamespacePath,
): T => (entry.id ? { ...entry, id: [...database, ...entry.id] } : entry);

/** An entry of a body or a reply with an id that is relative to the database. */
export const belowDatabase = <T extends { id?: readonly string[] }>(
  entry: T,
  database: NamespacePath,
): T => (entry.id ? { ...entry, id: idBelow(database, entry.id) } : entry);

const isBelow = (database: NamespacePath, id: readonly string[]): boolean =>
  database.every((component, at) => component === id[at]);

/**
 * The services of a request in a database: nothing outside of it exists for them. The handlers get complete ids, so this
 * only matters to names that come from elsewhere: ids of jobs and transactions, locations, and sources of views.
 */
export function databaseServices(services: Services, database: NamespacePath): Services {
  if (database.length === 0) return services;
  return {
    ...services,
    catalog: catalogOf(services.catalog, database),
    jobs: override(services.jobs, {
      async describe(id) {
        const job = await services.jobs.describe(id);
        const table = await services.catalog.tableByKey(job.table);
        if (!table || !isBelow(database, table.id)) throw jobNotFound(id);
        return job;
      },
      listAll: (page, visible) => services.jobs.listAll(page, visible, database),
    }),
    transactions: override(services.transactions, {
      async describe(id) {
        const transaction = await services.transactions.describe(id);
        if (isBelow(database, changedObject(transaction.properties))) return transaction;
        throw transactionNotFound(id);
      },
    }),
  };
}

/** The reply of a handler with ids that are relative to the database of the request. */
export function replyInDatabase(
  { contentNames }: Operation,
  { database }: Call<unknown, unknown>,
  reply: Promise<Reply> | Reply,
): Promise<Reply> | Reply {
  const shorten = database.length > 0 ? contentNames?.reply : undefined;
  if (!shorten) return reply;
  const inDatabase = (complete: Reply): Reply => {
    if (complete.kind === "json") {
      return mergeObjects(complete, { value: shorten(complete.value, database) });
    }
    if (complete.kind !== "encoded") return complete;
    const text = JSON.stringify(shorten(JSON.parse(complete.text), database));
    return mergeObjects(complete, { text });
  };
  return reply instanceof Promise ? reply.then(inDatabase) : inDatabase(reply);
}

/** Checks the job or the transaction that a request names. Undefined: it names none. @throws code 10 */
export function checkInDatabase(
  { access }: Operation,
  { id, payload, database }: Call<unknown, unknown>,
  { jobs, transactions }: Pick<Services, "jobs" | "transactions">,
): Promise<unknown> | undefined {
  if (database.length === 0) return undefined;
  if (access.on === "job table") return jobs.describe((payload as { job_id: string }).job_id);
  const [transaction] = id;
  return access.on === "transaction object" && transaction !== undefined && id.length === 1
    ? transactions.describe(transaction)
    : undefined;
}

function catalogOf(catalog: Catalog, database: NamespacePath): Catalog {
  const checkNamespace = (path: NamespacePath) => {
    if (!isBelow(database, path)) throw namespaceNotFound(path);
  };
  const checkTable = (id: TableId) => {
    if (id.length === 0) throw noTableName();
    if (id.length <= database.length || !isBelow(database, id)) throw tableNotFound(id);
  };
  const isDatabase = (path: NamespacePath) => encodePath(path) === encodePath(database);
  return override(catalog, {
    async createNamespace(path, mode, properties) {
      checkNamespace(path);
      if (isDatabase(path)) {
        if (mode === "overwrite") throw ownRoot("overwritten");
        // A connection to a dropped database cannot create the database again.
        await catalog.describeNamespace(path);
      }
      return catalog.createNamespace(path, mode, properties);
    },
    async describeNamespace(path) {
      checkNamespace(path);
      return catalog.describeNamespace(path);
    },
    async listNamespaces(parent, page, options) {
      checkNamespace(parent);
      return catalog.listNamespaces(parent, page, options);
    },
    async dropNamespace(path, options) {
      checkNamespace(path);
      if (isDatabase(path)) throw ownRoot("dropped");
      return catalog.dropNamespace(path, options);
    },
    async table(id) {
      checkTable(id);
      return catalog.table(id);
    },
    tableSync: (id) =>
      id.length > database.length && isBelow(database, id) ? catalog.tableSync(id) : undefined,
    async tableByKey(key) {
      const record = await catalog.tableByKey(key);
      return record && isBelow(database, record.id) ? record : undefined;
    },
    async tableAt(location) {
      const record = await catalog.tableAt(location);
      if (!record || isBelow(database, record.id)) return record;
      throw new JoustError(
        ErrorCode.TableNotFound,
        `the table at ${JSON.stringify(location)} is not in the database ${formatPath(database)}`,
      );
    },
    async listTables(parent, page, options) {
      checkNamespace(parent);
      return catalog.listTables(parent, page, options);
    },
    listAllTables: (page, options) =>
      catalog.listAllTables(page, { declared: true, ...options, within: database }),
    async reserveTable(id, options) {
      checkTable(id);
      return catalog.reserveTable(id, options);
    },
    async renameTable(id, target) {
      checkTable(id);
      checkTable(target);
      return catalog.renameTable(id, target);
    },
    async replaceTable(id, target, key) {
      checkTable(id);
      checkTable(target);
      return catalog.replaceTable(id, target, key);
    },
    async changeTables(changes) {
      for (const { id } of changes.declare ?? []) checkTable(id);
      for (const id of changes.deregister ?? []) checkTable(id);
      return catalog.changeTables(changes);
    },
    async registerTable(table, options) {
      checkTable(table.id);
      return catalog.registerTable(table, options);
    },
    async dropTable(id, key) {
      checkTable(id);
      return catalog.dropTable(id, key);
    },
  });
}

const ownRoot = (done: string) => invalidInput(`the root namespace cannot be ${done}`);
