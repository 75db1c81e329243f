import { type RawBuilder, sql } from "kysely";
import type { CatalogDatabase } from "../../database/database.js";
import type { NamespacePath } from "../catalog.js";
import { descendants, encodePath } from "../path.js";
import type { FullyVisible, VisibleObjects } from "./visible-objects.js";

/** What `descendants` appends to a path. */
const below = descendants("");

/** SQL: the texts of a list, as the column `value`. One parameter, whatever the length of the list. */
const listed = (kind: CatalogDatabase["kind"], texts: readonly string[]): RawBuilder<unknown> => {
  const json = JSON.stringify(texts);
  return kind === "sqlite"
    ? sql`json_each(${json}) as listed`
    : sql`json_array_elements_text(${json}::json) as listed(value)`;
};

/** SQL: `column` is one of the namespaces, or in one of them. */
const isIn = (
  kind: CatalogDatabase["kind"],
  column: RawBuilder<unknown>,
  namespaces: readonly string[],
): RawBuilder<boolean> => sql<boolean>`exists (
  select 1 from ${listed(kind, namespaces)}
  where ${column} = listed.value
  or (${column} >= listed.value || ${below.from} and ${column} < listed.value || ${below.to}))`;

/** SQL: whether a row of `tables` is visible. */
export const isVisibleTable = (
  kind: CatalogDatabase["kind"],
  { namespaces, tables }: VisibleObjects,
): RawBuilder<boolean> => sql<boolean>`(
  tables.key in (select listed.value from ${listed(kind, tables)})
  or ${isIn(kind, sql.ref("tables.namespace"), namespaces)})`;

/** SQL: whether a row of `tables` is visible to a caller that may see what counts its rows. */
export function isFullyVisibleTable(
  kind: CatalogDatabase["kind"],
  { allRows, any, filtered }: FullyVisible,
): RawBuilder<boolean> {
  const everything = sql<boolean>`1 = 1`;
  const isAny = any ? isVisibleTable(kind, any) : everything;
  const isFiltered = filtered ? isVisibleTable(kind, filtered) : everything;
  return sql<boolean>`(${isVisibleTable(kind, allRows)} or (${isAny} and not ${isFiltered}))`;
}

/** SQL: whether a row of `tables` is below a namespace. */
export const isTableIn = (
  kind: CatalogDatabase["kind"],
  namespace: NamespacePath,
): RawBuilder<boolean> => isIn(kind, sql.ref("tables.namespace"), [encodePath(namespace)]);

/** SQL: whether a row of `namespaces` is visible. */
export const isVisibleNamespace = (
  kind: CatalogDatabase["kind"],
  { namespaces, parents }: VisibleObjects,
): RawBuilder<boolean> => sql<boolean>`(
  namespaces.path in (select listed.value from ${listed(kind, parents)})
  or ${isIn(kind, sql.ref("namespaces.path"), namespaces)})`;
