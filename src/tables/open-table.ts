import type { Catalog, TableRecord } from "../catalog/catalog.js";
import { tableNotFound } from "../catalog/failures.js";
import { formatPath } from "../catalog/path.js";
import type { Config } from "../config/config.js";
import type { Engine, Table } from "../engine/index.js";
import { ErrorCode, hasCode, JoustError } from "../foundation/errors.js";

/** What opening a table takes. */
export interface Opening {
  readonly catalog: Pick<Catalog, "table" | "tableSync" | "confirmTable">;
  readonly engine: Engine;
  readonly config: Pick<Config, "storageOptions">;
}

/** A live table: what the catalog knows of it, and the engine's handle. */
export interface OpenTable {
  readonly record: TableRecord;
  readonly table: Table;
}

/** Beyond this many the oldest handle is let go; making it again costs a little time. */
const MAX_HANDLES = 20_000;

const handles = new WeakMap<Engine, Map<string, Table>>();

/** Works on the table of that name. @throws code 1 or 4 when there is none, also when it goes meanwhile */
export function onTable<T>(
  services: Opening,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
): Promise<T> {
  return onDeclared(services, id, async (open) => {
    if (await isOnlyDeclared(services, open)) throw noVersionYet(id);
    return work(open);
  });
}

/** As `onTable`, and without a promise where the table is at hand and `work` makes none. */
export function onTableAtHand<T>(
  services: Opening,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
): Promise<T>;
export function onTableAtHand<T>(
  services: Opening,
  id: readonly string[],
  work: (open: OpenTable) => T | Promise<T>,
): T | Promise<T>;
export function onTableAtHand<T>(
  services: Opening,
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

/** As `onTable`, also where the table is only declared. */
export async function onDeclared<T>(
  services: Opening,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
): Promise<T> {
  const record = await liveTable(services, id);
  try {
    return await work({ record, table: tableHandle(services, record) });
  } catch (error) {
    return await failed(services, record, error);
  }
}

/** Files that vanish under a query are no fault of the server's if somebody dropped the table. */
async function failed(services: Opening, record: TableRecord, error: unknown): Promise<never> {
  if (hasCode(error, ErrorCode.Internal)) await checkLive(services, record);
  throw error;
}

/**
 * Whether a table has no version yet. One whose first version was written by its client, past this
 * server, is found out here and is a table like others from then on.
 */
export async function isOnlyDeclared(
  { catalog }: Opening,
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

/** @throws code 1 or 4 when the table is gone or another has its name */
export function checkLive(services: Opening, { id, key }: TableRecord): Promise<void> | undefined {
  return services.catalog.tableSync(id)?.key === key ? undefined : checkFound(services, id, key);
}

async function checkFound(services: Opening, id: readonly string[], key: string): Promise<void> {
  const now = await liveTable(services, id);
  if (now.key !== key) throw tableNotFound(id);
}

const liveTable = async (services: Opening, id: readonly string[]): Promise<TableRecord> =>
  services.catalog.tableSync(id) ?? services.catalog.table(id);

/** The engine's handle of a table; the same one as long as the table lives. */
export function tableHandle(services: Opening, record: TableRecord): Table {
  const known = handlesOf(services.engine);
  let table = known.get(record.key);
  if (table === undefined) {
    // Another server may have put this table in the place of one that is still remembered.
    table = services.engine.table(record.location, storageOptions(services, record), record.key);
    if (known.size >= MAX_HANDLES) known.delete(known.keys().next().value as string);
    known.set(record.key, table);
  }
  return table;
}

/** A dropped table's handle is of no more use in this thread. */
export function forgetHandle({ engine }: Pick<Opening, "engine">, key: string): void {
  handlesOf(engine).delete(key);
}

function handlesOf(engine: Engine): Map<string, Table> {
  let known = handles.get(engine);
  if (known === undefined) {
    known = new Map();
    handles.set(engine, known);
  }
  return known;
}

/** What the engine needs to reach a table's files: the root's options, then the table's own. */
export const storageOptions = (
  services: Pick<Opening, "config">,
  record: Pick<TableRecord, "storageOptions">,
): Record<string, string> => ({ ...services.config.storageOptions, ...record.storageOptions });
