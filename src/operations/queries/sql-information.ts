/** `information_schema`: the names in the catalog as SQL tables. */

import type { Catalog, NamespacePath, Page, PageRequest, TableId } from "../../catalog/catalog.js";
import type { SqlListed, SqlSource } from "../../engine/index.js";
import { ErrorCode, hasCode, invalidInput } from "../../foundation/errors.js";
import { ROOT_SCHEMA } from "../../tables/named-table.js";
import { storageOptions, type TableDependencies } from "../../tables/open-table.js";
import type { Freshness } from "../../tables/target.js";

/** The services that `information_schema` needs. */
export interface ListingServices extends TableDependencies {
  readonly catalog: TableDependencies["catalog"] &
    Pick<Catalog, "listAllTables" | "listNamespaces">;
}

const PAGE = 1_000;
/** Maximum number of names in the catalog that a statement may list. */
const MAX_NAMES = 100_000;
/** Maximum number of tables whose columns a statement may list. */
const MAX_OPENED = 10_000;

/** The table of `information_schema` that a name refers to, in lower case; undefined for other names. */
export function informationSchemaTable([schema, table, ...more]: readonly string[]):
  | string
  | undefined {
  if (schema?.toLowerCase() !== "information_schema" || more.length > 0) return undefined;
  return table?.toLowerCase();
}

/** The rows of the `information_schema` tables among the sources of a statement: of all names in the database. */
export async function listInformation(
  services: ListingServices,
  sources: readonly SqlSource[],
  database: NamespacePath,
  fresh: Freshness,
): Promise<{ schemata?: string[]; tables?: SqlListed[] }> {
  const requested = new Set(sources.map((source) => source.information));
  requested.delete(undefined);
  if (requested.size === 0) return {};
  const namespaces = await allNamespaces(services, database, fresh);
  const hasPublic = namespaces.some((path) => {
    const [name, ...more] = path.slice(database.length);
    return name === ROOT_SCHEMA && more.length === 0;
  });
  const root = hasPublic ? "" : ROOT_SCHEMA;
  const schema = (path: NamespacePath) =>
    path.length === database.length ? root : path.slice(database.length).join("$");
  const schemata = namespaces.map(schema);
  if (!requested.has("tables") && !requested.has("columns")) return { schemata };
  const tables = await allTables(services, fresh);
  const withColumns = requested.has("columns");
  if (withColumns && tables.length > MAX_OPENED) {
    throw invalidInput(
      `information_schema.columns opens every table, and the catalog has more than ${MAX_OPENED} tables: use DescribeTable, POST /v1/table/{id}/describe`,
    );
  }
  const listed: SqlListed[] = [];
  for (const id of tables) {
    const entry = { schema: schema(id.slice(0, -1)), name: id.at(-1) as string };
    const location = withColumns ? await locate(services, id) : {};
    if (location) listed.push({ ...entry, ...location });
  }
  return { schemata, tables: listed };
}

/** Where the engine finds a table; undefined if it was dropped after the listing, or if the caller may not read it. */
async function locate(
  services: TableDependencies,
  id: TableId,
): Promise<Pick<SqlListed, "location" | "storageOptions"> | undefined> {
  try {
    const record = services.catalog.tableSync(id) ?? (await services.catalog.table(id));
    return { location: record.location, storageOptions: storageOptions(services, record) };
  } catch (error) {
    const missing = [
      ErrorCode.TableNotFound,
      ErrorCode.NamespaceNotFound,
      ErrorCode.PermissionDenied,
    ];
    if (missing.some((code) => hasCode(error, code))) return undefined;
    throw error;
  }
}

/** The database first; each namespace before its children. */
async function allNamespaces(
  { catalog }: ListingServices,
  database: NamespacePath,
  fresh: Freshness,
): Promise<NamespacePath[]> {
  const namespaces: NamespacePath[] = [database];
  for (let at = 0; at < namespaces.length; at++) {
    const parent = namespaces[at] as NamespacePath;
    try {
      const names = await allPages((page) => catalog.listNamespaces(parent, page), fresh);
      namespaces.push(...names.map((name) => [...parent, name]));
    } catch (error) {
      // The namespace was dropped after the listing.
      if (!hasCode(error, ErrorCode.NamespaceNotFound)) throw error;
    }
    checkCount(namespaces.length);
  }
  return namespaces;
}

const allTables = ({ catalog }: ListingServices, fresh: Freshness): Promise<TableId[]> =>
  allPages((page) => catalog.listAllTables(page, { declared: true }), fresh);

async function allPages<T>(
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
  if (names <= MAX_NAMES) return;
  throw invalidInput(
    `the catalog has more than ${MAX_NAMES} names: list them in pages, GET /v1/namespace/{id}/table/list`,
  );
}
