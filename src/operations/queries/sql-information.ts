/** `information_schema`: what the catalog knows, as SQL shows it. */

import type { Catalog, NamespacePath, Page, PageRequest, TableId } from "../../catalog/catalog.js";
import type { SqlListed, SqlSource } from "../../engine/index.js";
import { ErrorCode, hasCode, invalidInput } from "../../foundation/errors.js";
import { ROOT_SCHEMA } from "../../tables/named-table.js";
import { storageOptions, type TableDependencies } from "../../tables/open-table.js";
import type { Freshness } from "../../tables/target.js";

/** What a listing for a statement takes. */
export interface Listing extends TableDependencies {
  readonly catalog: TableDependencies["catalog"] &
    Pick<Catalog, "listAllTables" | "listNamespaces">;
}

const PAGE = 1_000;
/** Names of the catalog that a statement may have listed. */
const MOST_NAMES = 100_000;
/** Tables of a catalog whose columns a statement may have listed. */
const MOST_OPENED = 10_000;

/** The table of `information_schema` that a name is, in lower case; undefined for other names. */
export function informationName([schema, table, ...more]: readonly string[]): string | undefined {
  if (schema?.toLowerCase() !== "information_schema" || more.length > 0) return undefined;
  return table?.toLowerCase();
}

/** What the tables of `information_schema` among some sources show. */
export async function listingFor(
  services: Listing,
  sources: readonly SqlSource[],
  fresh: Freshness,
): Promise<{ schemata?: string[]; tables?: SqlListed[] }> {
  const wanted = new Set(sources.map((source) => source.information));
  wanted.delete(undefined);
  if (wanted.size === 0) return {};
  const namespaces = await allNamespaces(services, fresh);
  const root = namespaces.some((path) => path.length === 1 && path[0] === ROOT_SCHEMA)
    ? ""
    : ROOT_SCHEMA;
  const schema = (path: NamespacePath) => (path.length === 0 ? root : path.join("$"));
  const schemata = namespaces.map(schema);
  if (!wanted.has("tables") && !wanted.has("columns")) return { schemata };
  const tables = await allTables(services, fresh);
  const isOpened = wanted.has("columns");
  if (isOpened && tables.length > MOST_OPENED) {
    throw invalidInput(
      `information_schema.columns opens every table, and there are more than ${MOST_OPENED}: use DescribeTable, POST /v1/table/{id}/describe`,
    );
  }
  const listed: SqlListed[] = [];
  for (const id of tables) {
    const entry = { schema: schema(id.slice(0, -1)), name: id.at(-1) as string };
    const place = isOpened ? await placeOf(services, id) : {};
    if (place) listed.push({ ...entry, ...place });
  }
  return { schemata, tables: listed };
}

/** Undefined for a table that was dropped meanwhile. */
async function placeOf(
  services: TableDependencies,
  id: TableId,
): Promise<Pick<SqlListed, "location" | "storageOptions"> | undefined> {
  try {
    const record = services.catalog.tableSync(id) ?? (await services.catalog.table(id));
    return { location: record.location, storageOptions: storageOptions(services, record) };
  } catch (error) {
    const gone = [ErrorCode.TableNotFound, ErrorCode.NamespaceNotFound];
    if (gone.some((code) => hasCode(error, code))) return undefined;
    throw error;
  }
}

/** The root first, each namespace before those inside it. */
async function allNamespaces({ catalog }: Listing, fresh: Freshness): Promise<NamespacePath[]> {
  const found: NamespacePath[] = [[]];
  for (let at = 0; at < found.length; at++) {
    const parent = found[at] as NamespacePath;
    try {
      const names = await every((page) => catalog.listNamespaces(parent, page), fresh);
      found.push(...names.map((name) => [...parent, name]));
    } catch (error) {
      // Dropped meanwhile.
      if (!hasCode(error, ErrorCode.NamespaceNotFound)) throw error;
    }
    checkCount(found.length);
  }
  return found;
}

const allTables = ({ catalog }: Listing, fresh: Freshness): Promise<TableId[]> =>
  every((page) => catalog.listAllTables(page, { declared: true }), fresh);

async function every<T>(
  list: (page: PageRequest) => Promise<Page<T>>,
  { minTimestampMillis }: Freshness,
): Promise<T[]> {
  const all: T[] = [];
  let pageToken: string | undefined;
  do {
    const { items, pageToken: next } = await list({
      limit: PAGE,
      ...(minTimestampMillis !== undefined && { minTimestampMillis }),
      ...(pageToken !== undefined && { pageToken }),
    });
    all.push(...items);
    checkCount(all.length);
    pageToken = next;
  } while (pageToken !== undefined);
  return all;
}

function checkCount(names: number): void {
  if (names <= MOST_NAMES) return;
  throw invalidInput(
    `the catalog has more than ${MOST_NAMES} names: list them in pages, GET /v1/namespace/{id}/table/list`,
  );
}
