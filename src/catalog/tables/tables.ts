import { randomUUID } from "node:crypto";
import type { Selectable } from "kysely";
import { chunks } from "../../database/chunks.js";
import type { CatalogDatabase, Write } from "../../database/database.js";
import type { TablesRow } from "../../database/schema.js";
import { available, violation } from "../../database/sql-error.js";
import { tableDropped } from "../../database/table-dropped.js";
import type { ReserveOptions, TableId, TableRecord } from "../catalog.js";
import { namespaceNotFound, tableExists } from "../failures.js";
import { findTable, missingTable } from "../lookup.js";
import { checkTableId } from "../names.js";
import { encodePath, splitPath } from "../path.js";
import { TABLE_COLUMNS, tableRecord } from "../records.js";
import { deleteClone, insertClone } from "./clones.js";
import { insertTable, type TableRow } from "./insert-table.js";
import { jobsOfTable, recordJobOutcomes } from "./job-outcomes.js";
import { liveTable } from "./live-table.js";
import { newLocation, unusedLocation } from "./location.js";
import type { TableDrop } from "./table-drops.js";

export async function reserveTable(
  db: CatalogDatabase,
  self: string,
  root: string,
  id: TableId,
  options: ReserveOptions,
): Promise<TableRecord> {
  checkTableId(id);
  const { parent, name } = splitPath(id);
  const row: Selectable<TablesRow> = {
    key: options.key ?? randomUUID(),
    namespace: parent,
    name,
    location: await unusedLocation(root, id, options.isLocationTaken),
    state: "reserved",
    properties: JSON.stringify(options.properties),
    storage_options: JSON.stringify(options.storageOptions),
    declared: 0,
    owner: self,
    created_at: Date.now(),
    creator: options.creator,
  };
  const { source } = options;
  const insert = async (t: Write) => {
    const inserted = await insertTable(t, id, row);
    if (inserted && source) await insertClone(db, t, row, source);
    return inserted;
  };
  while (!(await db.write(insert))) row.location = newLocation(root, id, true);
  return tableRecord(row);
}

export async function activateTable(db: CatalogDatabase, key: string): Promise<void> {
  const { numUpdatedRows } = await db.write((t) =>
    t
      .updateTable("tables")
      .set({ state: "live" })
      .where("key", "=", key)
      .where("state", "=", "reserved")
      .executeTakeFirst(),
  );
  if (numUpdatedRows === 0n) throw tableDropped();
}

/**
 * Removes a table of `self` that is not live from its namespace. Returns false when it is live or when another server
 * has claimed it: its location may belong to another table by now.
 */
export async function withdrawTable(
  db: CatalogDatabase,
  self: string,
  key: string,
): Promise<boolean> {
  return db.write(async (t) => {
    const row = await t
      .selectFrom("tables")
      .select("key")
      .where("key", "=", key)
      .where("state", "<>", "live")
      .where("owner", "=", self)
      .$if(db.kind === "postgres", (query) => query.forUpdate())
      .executeTakeFirst();
    if (!row) return false;
    await hideTables(t, self, [key]);
    return true;
  });
}

/**
 * Deletes the row of a table of `self` that is not live. Leaves it when another server has claimed it: that server
 * removes the files, and until then no new table may have the location.
 */
export async function deleteRow(db: CatalogDatabase, self: string, key: string): Promise<void> {
  await db.write(async (t) => {
    const row = await t
      .selectFrom("tables")
      .select("location")
      .where("key", "=", key)
      .where("state", "<>", "live")
      .where("owner", "=", self)
      .$if(db.kind === "postgres", (query) => query.forUpdate())
      .executeTakeFirst();
    if (!row) return;
    await recordJobOutcomes(t, jobsOfTable(t, key));
    await deleteClone(t, row.location);
    await t.deleteFrom("tables").where("key", "=", key).execute();
  });
}

/** See `Catalog.ownsDropped`. */
export async function ownsDropped(
  db: CatalogDatabase,
  self: string,
  key: string,
): Promise<boolean> {
  const query = db.read
    .selectFrom("tables")
    .select("key")
    .where("key", "=", key)
    .where("state", "=", "dropped")
    .where("owner", "=", self);
  return (await available(query.executeTakeFirst())) !== undefined;
}

export async function setTableProperties(
  db: CatalogDatabase,
  key: string,
  properties: Record<string, string>,
): Promise<void> {
  const { numUpdatedRows } = await db.write((t) =>
    t
      .updateTable("tables")
      .set({ properties: JSON.stringify(properties) })
      .where("key", "=", key)
      .where("state", "=", "live")
      .executeTakeFirst(),
  );
  if (numUpdatedRows === 0n) throw tableDropped();
}

/** See `Catalog.mergeTableProperties`. */
export async function mergeTableProperties(
  db: CatalogDatabase,
  key: string,
  properties: Record<string, string>,
): Promise<Record<string, string>> {
  return db.write(async (t) => {
    const row = await t
      .selectFrom("tables")
      .select("properties")
      .where("key", "=", key)
      .where("state", "=", "live")
      .$if(db.kind === "postgres", (query) => query.forUpdate())
      .executeTakeFirst();
    if (!row) throw tableDropped();
    const merged = { ...JSON.parse(row.properties), ...properties };
    await t
      .updateTable("tables")
      .set({ properties: JSON.stringify(merged) })
      .where("key", "=", key)
      .execute();
    return merged;
  });
}

export async function dropTable(
  db: CatalogDatabase,
  drop: TableDrop,
  id: TableId,
  key?: string,
): Promise<TableRecord> {
  const dropped = await db.write(async (t) => {
    const row = await liveTable(db, t, id);
    if (!row || row.key !== (key ?? row.key)) return undefined;
    await hideTables(t, drop.self, [row.key]);
    drop.keys = [row.key];
    return row;
  });
  if (!dropped) throw await missingTable(db, id);
  return tableRecord(dropped);
}

/**
 * Marks tables as dropped, removes them from their namespaces and cancels their jobs. `self` becomes the owner that
 * removes the files; a reserved table keeps the owner that writes it.
 */
export async function hideTables(t: Write, self: string, keys: readonly string[]): Promise<void> {
  for (const chunk of chunks(keys)) {
    await t
      .updateTable("tables")
      .set((e) => ({
        state: "dropped",
        namespace: null,
        owner: e.case().when("state", "=", "live").then(self).else(e.ref("owner")).end(),
      }))
      .where("key", "in", chunk)
      .execute();
  }
  for (const chunk of chunks(keys)) {
    await t
      .updateTable("jobs")
      .set({ state: "CANCELLED", updated_at: Date.now() })
      .where("table_key", "in", chunk)
      .where("state", "in", ["QUEUED", "RUNNING"])
      .execute();
  }
}

export async function renameTable(
  db: CatalogDatabase,
  id: TableId,
  target: TableId,
): Promise<TableRecord> {
  checkTableId(target);
  if (encodePath(id) === encodePath(target)) {
    await findTable(db, id);
    throw tableExists(target);
  }
  const renamed = await db.write((t) => renameRow(t, id, target));
  if (!renamed) throw await missingTable(db, id);
  return tableRecord(renamed);
}

/** See `Catalog.replaceTable`. */
export async function replaceTable(
  db: CatalogDatabase,
  drop: TableDrop,
  id: TableId,
  target: TableId,
  key: string,
): Promise<TableRecord | undefined> {
  checkTableId(target);
  const done = await db.write(async (t) => {
    // Locked: the rename cannot miss its table after the drop of the other one.
    if (!(await liveTable(db, t, id))) return undefined;
    const row = await liveTable(db, t, target);
    const replaced = row?.key === key ? row : undefined;
    if (replaced) await hideTables(t, drop.self, [key]);
    drop.keys = replaced ? [key] : [];
    await renameRow(t, id, target);
    return { replaced: replaced && tableRecord(replaced) };
  });
  if (!done) throw await missingTable(db, id);
  return done.replaced;
}

/** Undefined: there is no live table `id`. @throws code 1 without the namespace, 5 when the name exists */
function renameRow(t: Write, id: TableId, target: TableId): Promise<TableRow | undefined> {
  const from = splitPath(id);
  const to = splitPath(target);
  return t
    .updateTable("tables")
    .set({ namespace: to.parent, name: to.name })
    .where("namespace", "=", from.parent)
    .where("name", "=", from.name)
    .where("state", "=", "live")
    .returning(TABLE_COLUMNS)
    .executeTakeFirst()
    .catch((error) => {
      if (violation(error) === "unique") throw tableExists(target);
      throw violation(error) === "foreign-key" ? namespaceNotFound(target.slice(0, -1)) : error;
    });
}
