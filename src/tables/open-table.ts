import type { Catalog, TableRecord } from "../catalog/catalog.js";
import { tableNotFound } from "../catalog/failures.js";
import { formatPath } from "../catalog/path.js";
import type { Config } from "../config/config.js";
import type { Engine, Table } from "../engine/index.js";
import { ErrorCode, hasCode, JoustError } from "../foundation/errors.js";

export interface TableDependencies {
  readonly catalog: Pick<Catalog, "table" | "tableSync" | "confirmTable">;
  readonly engine: Engine;
  readonly config: Pick<Config, "storageOptions">;
}

/** A live table: its record in the catalog and the engine's handle. */
export interface OpenTable {
  readonly record: TableRecord;
  readonly table: Table;
}

/** Beyond this number the oldest handle is released. To make it again is cheap. */
const MAX_HANDLES = 20_000;

const handles = new WeakMap<Engine, Map<string, Table>>();

/** Runs work on the table of that name. @throws code 1 or 4 when there is none or it is dropped meanwhile */
export function onTable<T>(
  services: TableDependencies,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
): Promise<T> {
  return onDeclared(services, id, async (open) => {
    if (await isOnlyDeclared(services, open)) throw noVersionYet(id);
    return work(open);
  });
}

/** Like `onTable`, but synchronous when the catalog has the table in memory and `work` returns no promise. */
export function onTableAtHand<T>(
  services: TableDependencies,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
): Promise<T>;
export function onTableAtHand<T>(
  services: TableDependencies,
  id: readonly string[],
  work: (open: OpenTable) => T | Promise<T>,
): T | Promise<T>;
export function onTableAtHand<T>(
  services: TableDependencies,
  id: readonly string[],
  work: (open: OpenTable) => T | Promise<T>,
): T | Promise<T> {
  const record = services.catalog.tableSync(id);
  if (!record || record.declared) return onTable(services, id, async (open) => work(open));
  try {
    const done = work({ record, table: tableHandle(services, record) });
    return done instanceof Promise ? done.catch((error) => failed(services, record, error)) : done;
  } catch (error) {
    return failed(services, record, error);
  }
}

/** Like `onTable`, also for tables that are only declared. */
export async function onDeclared<T>(
  services: TableDependencies,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
): Promise<T> {
  const record = await liveRecord(services, id);
  try {
    return await work({ record, table: tableHandle(services, record) });
  } catch (error) {
    return await failed(services, record, error);
  }
}

/** Missing files are an internal error only if the table still exists: reports a dropped table as such. */
async function failed(
  services: TableDependencies,
  record: TableRecord,
  error: unknown,
): Promise<never> {
  if (hasCode(error, ErrorCode.Internal)) await checkLive(services, record);
  throw error;
}

/**
 * Whether a table has no version yet. A client may write the first version without this server: the table is then
 * confirmed here.
 */
export async function isOnlyDeclared(
  { catalog }: TableDependencies,
  { record, table }: OpenTable,
): Promise<boolean> {
  if (!record.declared) return false;
  try {
    await table.describe();
  } catch (error) {
    if (hasCode(error, ErrorCode.TableNotFound)) return true;
    throw error;
  }
  await catalog.confirmTable(record.key);
  return false;
}

const noVersionYet = (id: readonly string[]): JoustError =>
  new JoustError(
    ErrorCode.TableNotFound,
    `table ${formatPath(id)} is declared but has no version yet: create it, or insert rows`,
  );

/** @throws code 1 or 4 when the table is dropped or another one has its name */
export function checkLive(
  services: TableDependencies,
  { id, key }: TableRecord,
): Promise<void> | undefined {
  return services.catalog.tableSync(id)?.key === key ? undefined : checkFound(services, id, key);
}

async function checkFound(
  services: TableDependencies,
  id: readonly string[],
  key: string,
): Promise<void> {
  const now = await liveRecord(services, id);
  if (now.key !== key) throw tableNotFound(id);
}

const liveRecord = async (
  services: TableDependencies,
  id: readonly string[],
): Promise<TableRecord> => services.catalog.tableSync(id) ?? services.catalog.table(id);

/**
 * Returns the engine's handle of a table: the same one until the table is dropped. For a caller with a row filter it has
 * only the methods of `RowTable`, which apply the filter: a handler that calls another one fails.
 */
export function tableHandle(services: TableDependencies, record: TableRecord): Table {
  const table = sharedHandle(services, record);
  const filters = record.restriction?.filters;
  return filters === undefined ? table : (table.withRows([...filters]) as unknown as Table);
}

/** What finds a version of a table, also for a caller with a row filter. It reads no rows. */
export type TableVersions = Pick<
  Table,
  "describe" | "tag" | "listBranches" | "listVersions" | "describeVersion" | "onBranch"
>;

export const versionsOf = (services: TableDependencies, record: TableRecord): TableVersions =>
  sharedHandle(services, record);

function sharedHandle(services: TableDependencies, record: TableRecord): Table {
  const cached = handlesOf(services.engine);
  let table = cached.get(record.key);
  if (table === undefined) {
    // The key tells the engine that another server may have replaced the table at this location.
    table = services.engine.table(record.location, storageOptions(services, record), record.key);
    if (cached.size >= MAX_HANDLES) cached.delete(cached.keys().next().value as string);
    cached.set(record.key, table);
  }
  return table;
}

/** Releases this thread's handle of a dropped table. */
export function forgetHandle({ engine }: Pick<TableDependencies, "engine">, key: string): void {
  handlesOf(engine).delete(key);
}

function handlesOf(engine: Engine): Map<string, Table> {
  let cached = handles.get(engine);
  if (cached === undefined) {
    cached = new Map();
    handles.set(engine, cached);
  }
  return cached;
}

/** The storage options of the root, overridden by those of the table. */
export const storageOptions = (
  services: Pick<TableDependencies, "config">,
  record: Pick<TableRecord, "storageOptions">,
): Record<string, string> => ({ ...services.config.storageOptions, ...record.storageOptions });
