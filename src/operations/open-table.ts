import type { TableRecord } from "../catalog/catalog.js";
import type { Engine, Table } from "../engine/index.js";
import type { Services } from "../services.js";

/** A live table: what the catalog knows of it, and the engine's handle. */
export interface OpenTable {
  readonly record: TableRecord;
  readonly table: Table;
}

/** Beyond this many the oldest handle is let go; making it again costs a little time. */
const MAX_HANDLES = 20_000;

const handles = new WeakMap<Engine, Map<string, Table>>();

/** The engine's handle of a table; the same one as long as the table lives. */
export function tableHandle(services: Services, record: TableRecord): Table {
  const known = handlesOf(services.engine);
  let table = known.get(record.key);
  if (table === undefined) {
    table = services.engine.table(record.location, storageOptions(services, record));
    if (known.size >= MAX_HANDLES) known.delete(known.keys().next().value as string);
    known.set(record.key, table);
  }
  return table;
}

/** A dropped table's handle is of no more use. */
export function forgetHandle(services: Services, key: string): void {
  handlesOf(services.engine).delete(key);
}

function handlesOf(engine: Engine): Map<string, Table> {
  let known = handles.get(engine);
  if (known === undefined) {
    known = new Map();
    handles.set(engine, known);
  }
  return known;
}

/** The table of that name. @throws code 1 or 4 */
export async function openTable(services: Services, id: readonly string[]): Promise<OpenTable> {
  const record = services.catalog.tableSync(id) ?? (await services.catalog.table(id));
  return { record, table: tableHandle(services, record) };
}

/** What the engine needs to reach a table's files: the root's options, then the table's own. */
export const storageOptions = (
  services: Services,
  record: Pick<TableRecord, "storageOptions">,
): Record<string, string> => ({ ...services.config.storageOptions, ...record.storageOptions });
