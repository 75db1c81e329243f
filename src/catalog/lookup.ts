import { sql } from "kysely";
import type { CatalogDatabase, CatalogReads } from "../database/database.js";
import { available } from "../database/sql-error.js";
import { CurrentCache } from "../database/sqlite/reader.js";
import type { JoustError } from "../foundation/errors.js";
import type { NamespacePath, NamespaceRecord, TableId, TableRecord } from "./catalog.js";
import { namespaceNotFound, tableNotFound } from "./failures.js";
import { noTableName } from "./names.js";
import { decodePath, encodePath, splitPath } from "./path.js";
import { namespaceRecord, TABLE_COLUMNS, tableRecord } from "./records.js";

/** @throws code 1 when it does not exist */
export async function describeNamespace(
  db: CatalogDatabase,
  path: NamespacePath,
): Promise<NamespaceRecord> {
  const row = await available(
    db.read
      .selectFrom("namespaces")
      .select(["path", "properties"])
      .where("path", "=", encodePath(path))
      .executeTakeFirst(),
  );
  if (!row) throw namespaceNotFound(path);
  return namespaceRecord(row);
}

/** @throws code 1 without the namespace, 4 without the table */
export async function findTable(db: CatalogDatabase, id: TableId): Promise<TableRecord> {
  const { parent, name } = splitPath(id);
  const row = await available(liveTableQuery(db, parent, name).executeTakeFirst());
  if (!row) throw await missingTable(db, id);
  return tableRecord(row);
}

export async function findLiveTable(
  db: CatalogDatabase,
  column: "key" | "location",
  value: string,
): Promise<TableRecord | undefined> {
  const row = await available(
    db.read
      .selectFrom("tables")
      .select(TABLE_COLUMNS)
      .where(column, "=", value)
      .where("state", "=", "live")
      .executeTakeFirst(),
  );
  return row && tableRecord(row);
}

/** A cache of live tables by encoded identifier; SQLite only. */
export function tableCache(db: CatalogReads): CurrentCache<TableRecord> | undefined {
  if (!db.reader) return undefined;
  const find = db.reader.prepare(liveTableQuery(db, "", ""));
  return new CurrentCache(db.reader, (encodedId) => {
    const { parent, name } = splitPath(decodePath(encodedId));
    const row = find(parent, name);
    return row && tableRecord(row);
  });
}

/** Returns the error for a missing table: the namespace may be missing too. */
export async function missingTable(db: CatalogDatabase, id: TableId): Promise<JoustError> {
  if (id.length === 0) return noTableName();
  const path = id.slice(0, -1);
  return describeNamespace(db, path).then(
    () => tableNotFound(id),
    (error) => error,
  );
}

/** Two parameters, in this order: namespace, name. */
const liveTableQuery = (db: CatalogReads, namespace: string, name: string) =>
  db.read
    .selectFrom("tables")
    .select(TABLE_COLUMNS)
    .where("namespace", "=", namespace)
    .where("name", "=", name)
    .where("state", "=", sql.lit("live"));
