import type { CatalogReads } from "../../database/database.js";

/** One grant as the catalog reads it: plain values, which threads can exchange. */
export interface GrantRow {
  readonly subject: string;
  readonly privilege: string;
  /** SQL: the privilege applies to the rows for which it is true. Null: to all rows. */
  readonly row_filter: string | null;
  /** Encoded path; null unless the object is a namespace. */
  readonly namespace: string | null;
  /** Null unless the object is a table. */
  readonly table_key: string | null;
  /** The current identifier of a live table. */
  readonly table_namespace: string | null;
  readonly table_name: string | null;
}

/** All grants with the current identifiers of their tables. */
export const grantRows = ({ read }: CatalogReads) =>
  read
    .selectFrom("grants")
    .leftJoin("tables", "tables.key", "grants.table_key")
    .select(["grants.subject", "grants.privilege", "grants.row_filter"])
    .select(["grants.namespace", "grants.table_key"])
    .select(["tables.namespace as table_namespace", "tables.name as table_name"]);
