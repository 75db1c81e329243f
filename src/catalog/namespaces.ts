import { chunks } from "../database/chunks.js";
import type { CatalogDatabase, Write } from "../database/database.js";
import type { NamespacesRow } from "../database/schema.js";
import { violation } from "../database/sql-error.js";
import { invalidInput } from "../foundation/errors.js";
import type { NamespacePath, NamespaceRecord, TableRecord } from "./catalog.js";
import { recordDatabase } from "./databases.js";
import {
  namespaceChanged,
  namespaceExists,
  namespaceNotEmpty,
  namespaceNotFound,
} from "./failures.js";
import { checkNamespacePath } from "./names.js";
import { descendants, encodePath, splitPath } from "./path.js";
import { namespaceRecord, TABLE_COLUMNS, tableRecord } from "./records.js";
import type { TableDrop } from "./tables/table-drops.js";
import { hideTables } from "./tables/tables.js";

export type NamespaceChange = { namespace: NamespaceRecord; emptied: TableRecord[] };

export async function createNamespace(
  db: CatalogDatabase,
  drop: TableDrop,
  path: NamespacePath,
  mode: "create" | "exist_ok" | "overwrite",
  properties: Record<string, string>,
): Promise<NamespaceChange> {
  checkNamespacePath(path);
  if (path.length === 0 && mode === "overwrite") {
    throw invalidInput("the root namespace cannot be overwritten");
  }
  return db.write(async (t) => {
    const values = { path: encodePath(path), properties: JSON.stringify(properties) };
    if (await insertNamespace(t, path, values.properties)) {
      return { namespace: namespaceRecord(values), emptied: [] };
    }
    if (mode === "create") throw namespaceExists(path);
    if (mode === "exist_ok") return { namespace: await describeExisting(t, path), emptied: [] };
    const emptied = await emptyNamespace(db, t, drop, path);
    // The new namespace does not inherit the grants of the replaced one.
    await t.deleteFrom("grants").where("namespace", "=", values.path).execute();
    const { numUpdatedRows } = await t
      .updateTable("namespaces")
      .set({ properties: values.properties })
      .where("path", "=", values.path)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw namespaceChanged(path);
    return { namespace: namespaceRecord(values), emptied };
  });
}

/** Returns null when the namespace does not exist and `missing` is "skip". */
export async function dropNamespace(
  db: CatalogDatabase,
  drop: TableDrop,
  path: NamespacePath,
  options: { missing: "fail" | "skip"; behavior: "restrict" | "cascade" },
): Promise<NamespaceChange | null> {
  if (path.length === 0) throw invalidInput("the root namespace cannot be dropped");
  const cascade = options.behavior === "cascade";
  const dropped = await db.write(async (t) => {
    const emptied = cascade ? await emptyNamespace(db, t, drop, path) : [];
    const row = await t
      .deleteFrom("namespaces")
      .where("path", "=", encodePath(path))
      .returning(["path", "properties", "found"])
      .executeTakeFirst()
      .catch((error) => {
        // Tables and namespaces inside reference the namespace.
        if (violation(error) !== "foreign-key") throw error;
        throw cascade ? namespaceChanged(path) : namespaceNotEmpty(path);
      });
    if (row) await recordDropped(t, [row]);
    return row && { namespace: namespaceRecord(row), emptied };
  });
  if (dropped) return dropped;
  if (options.missing === "skip") return null;
  throw namespaceNotFound(path);
}

/** Inserts the namespace unless it exists. Returns whether it did. @throws code 1 without the parent */
export async function insertNamespace(
  t: Write,
  path: NamespacePath,
  properties: string,
  { adopted = false } = {},
): Promise<boolean> {
  if (path.length === 0) return false;
  const { parent, name } = splitPath(path);
  if (path.length === 1) await recordDatabase(t, name);
  const row = await t
    .insertInto("namespaces")
    .values({
      path: encodePath(path),
      parent,
      name,
      properties,
      found: adopted ? 1 : 0,
      created_at: Date.now(),
    })
    .onConflict((c) => c.doNothing())
    .returning("path")
    .executeTakeFirst()
    .catch((error) => {
      throw violation(error) === "foreign-key" ? namespaceNotFound(path.slice(0, -1)) : error;
    });
  return row !== undefined;
}

/** Drops everything below a namespace. Returns the tables whose files the caller must remove. */
async function emptyNamespace(
  db: CatalogDatabase,
  t: Write,
  drop: TableDrop,
  path: NamespacePath,
): Promise<TableRecord[]> {
  const encoded = encodePath(path);
  const below = descendants(encoded);
  if (db.kind === "postgres") {
    // Locks the namespaces: no other transaction adds to them until this one ends.
    await t
      .selectFrom("namespaces")
      .select("path")
      .where((e) =>
        e.or([
          e("path", "=", encoded),
          e.and([e("path", ">=", below.from), e("path", "<", below.to)]),
        ]),
      )
      .orderBy("path")
      .forUpdate()
      .execute();
  }
  const inside = await t
    .selectFrom("tables")
    .select([...TABLE_COLUMNS, "state"])
    .where((e) =>
      e.or([
        e("namespace", "=", encoded),
        e.and([e("namespace", ">=", below.from), e("namespace", "<", below.to)]),
      ]),
    )
    // Locks reserved tables: they cannot be activated before they are hidden.
    .$if(db.kind === "postgres", (query) => query.forUpdate())
    .execute();
  await hideTables(
    t,
    drop.self,
    inside.map((row) => row.key),
  );
  // The request that writes a reserved table fails to activate it, and removes its files.
  const live = inside.filter((row) => row.state === "live");
  drop.keys = live.map((row) => row.key);
  const dropped = await t
    .deleteFrom("namespaces")
    .where("path", ">=", below.from)
    .where("path", "<", below.to)
    .returning(["path", "found"])
    .execute()
    .catch((error) => {
      throw violation(error) === "foreign-key" ? namespaceChanged(path) : error;
    });
  await recordDropped(t, dropped);
  return live.map(tableRecord);
}

/** Records adopted namespaces as dropped: a manifest still lists them, and they must not be adopted again. */
async function recordDropped(
  t: Write,
  rows: readonly Pick<NamespacesRow, "path" | "found">[],
): Promise<void> {
  const adopted = rows.filter((row) => row.found).map(({ path }) => ({ path }));
  for (const chunk of chunks(adopted)) {
    await t
      .insertInto("dropped_namespaces")
      .values(chunk)
      .onConflict((c) => c.doNothing())
      .execute();
  }
}

async function describeExisting(t: Write, path: NamespacePath): Promise<NamespaceRecord> {
  const row = await t
    .selectFrom("namespaces")
    .select(["path", "properties"])
    .where("path", "=", encodePath(path))
    .executeTakeFirst();
  if (!row) throw namespaceChanged(path);
  return namespaceRecord(row);
}
