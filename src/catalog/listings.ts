import { sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import { available } from "../database/sql-error.js";
import type { ListingOptions, NamespacePath, Page, PageRequest } from "./catalog.js";
import type { VisibleObjects } from "./grants/visible-objects.js";
import { isTableIn, isVisibleNamespace, isVisibleTable } from "./grants/visible-rows.js";
import { describeNamespace } from "./lookup.js";
import { decodePageToken, encodePageToken, pageSize, tablesListing } from "./page-token.js";
import { decodePath, encodePath } from "./path.js";

/** Returns the names of the child namespaces in byte order. @throws code 1 when the parent does not exist */
export function listNamespaces(
  db: CatalogDatabase,
  parent: NamespacePath,
  page: PageRequest,
  { visible }: { visible?: VisibleObjects } = {},
): Promise<Page<string>> {
  return listNames(db, `namespaces ${encodePath(parent)}`, parent, page, (after, limit) =>
    db.read
      .selectFrom("namespaces")
      .select("name")
      .where("parent", "=", encodePath(parent))
      .$if(visible !== undefined, (query) =>
        query.where(isVisibleNamespace(db.kind, visible as VisibleObjects)),
      )
      .$if(after !== undefined, (query) => query.where("name", ">", after ?? ""))
      .orderBy("name")
      .limit(limit)
      .execute(),
  );
}

/** Returns the names of the live tables in byte order. @throws code 1 when the namespace does not exist */
export function listTables(
  db: CatalogDatabase,
  parent: NamespacePath,
  page: PageRequest,
  { declared, visible }: ListingOptions = { declared: true },
): Promise<Page<string>> {
  return listNames(db, tablesListing(parent), parent, page, (after, limit) =>
    db.read
      .selectFrom("tables")
      .select("name")
      .where("namespace", "=", encodePath(parent))
      .where("state", "=", "live")
      .$if(!declared, (query) => query.where("declared", "=", 0))
      .$if(visible !== undefined, (query) =>
        query.where(isVisibleTable(db.kind, visible as VisibleObjects)),
      )
      .$if(after !== undefined, (query) => query.where("name", ">", after ?? ""))
      .orderBy("name")
      .limit(limit)
      .execute(),
  );
}

/** Returns the identifiers of all live tables, ordered by namespace, then name. */
export async function listAllTables(
  db: CatalogDatabase,
  page: PageRequest,
  options: ListingOptions = { declared: true },
): Promise<Page<string[]>> {
  const listing = "all tables";
  const size = pageSize(page.limit);
  const after = decodePageToken(listing, 2, page.pageToken);
  const rows = await available(selectAllTables(db, options, after, size + 1).execute());
  const shown = rows.slice(0, size);
  const last = rows.length > size ? shown.at(-1) : undefined;
  return {
    items: shown.map((row) => [...decodePath(row.namespace ?? ""), row.name]),
    ...(last && { pageToken: encodePageToken(listing, [last.namespace ?? "", last.name]) }),
  };
}

/** The query of `listAllTables`. */
export const selectAllTables = (
  db: CatalogDatabase,
  { declared, visible, within, creator }: ListingOptions,
  after: readonly string[] | undefined,
  limit: number,
) =>
  db.read
    .selectFrom("tables")
    .select(["namespace", "name"])
    // A literal: with a parameter, the databases would not use the partial index of creators.
    .where("state", "=", sql.lit("live"))
    .$if(creator !== undefined, (query) => query.where("creator", "=", creator as string))
    .$if(!declared, (query) => query.where("declared", "=", 0))
    .$if(visible !== undefined, (query) =>
      query.where(isVisibleTable(db.kind, visible as VisibleObjects)),
    )
    .$if(within !== undefined, (query) => query.where(isTableIn(db.kind, within as NamespacePath)))
    .$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(namespace, name) > (${after?.[0]}, ${after?.[1]})`),
    )
    .orderBy("namespace")
    .orderBy("name")
    .limit(limit);

async function listNames(
  db: CatalogDatabase,
  listing: string,
  parent: NamespacePath,
  page: PageRequest,
  query: (after: string | undefined, limit: number) => Promise<{ name: string }[]>,
): Promise<Page<string>> {
  const size = pageSize(page.limit);
  const after = decodePageToken(listing, 1, page.pageToken)?.[0];
  const rows = await available(query(after, size + 1));
  if (rows.length === 0) await describeNamespace(db, parent);
  const items = rows.slice(0, size).map((row) => row.name);
  const last = rows.length > size ? items.at(-1) : undefined;
  return { items, ...(last !== undefined && { pageToken: encodePageToken(listing, [last]) }) };
}
