import { randomUUID } from "node:crypto";
import type { ClusterMembers } from "../../cluster/members.js";
import type { CatalogDatabase, Write } from "../../database/database.js";
import { tableDropped } from "../../database/table-dropped.js";
import type { Declaration, TableId, TableRecord } from "../catalog.js";
import { locationTaken } from "../failures.js";
import { missingTable } from "../lookup.js";
import { checkTableId } from "../names.js";
import { splitPath } from "../path.js";
import { TABLE_COLUMNS, tableRecord } from "../records.js";
import { insertTable, type TableRow } from "./insert-table.js";
import { jobsOfTable, recordJobOutcomes } from "./job-outcomes.js";
import { liveTable } from "./live-table.js";
import { newLocation, unusedLocation } from "./location.js";

/** Thrown inside a transaction. The catch handler determines why the table is missing. */
class MissingTable extends Error {
  constructor(readonly id: TableId) {
    super();
  }
}

/** See `Catalog.changeTables`. */
export async function changeTables(
  db: CatalogDatabase,
  self: string,
  root: string,
  changes: { declare?: readonly Declaration[]; deregister?: readonly TableId[] },
): Promise<{ declared: TableRecord[]; deregistered: TableRecord[] }> {
  const { declare = [], deregister = [] } = changes;
  const locations: string[] = [];
  for (const { id, location, isLocationTaken } of declare) {
    checkTableId(id);
    locations.push(location ?? (await unusedLocation(root, id, isLocationTaken)));
  }
  return db
    .write(async (t) => {
      const result = { declared: [] as TableRecord[], deregistered: [] as TableRecord[] };
      for (const id of deregister) result.deregistered.push(await deregisterOne(db, t, id));
      for (const [index, declaration] of declare.entries()) {
        const location = locations[index] as string;
        result.declared.push(await declareOne(t, self, root, declaration, location));
      }
      return result;
    })
    .catch(async (error) => {
      throw error instanceof MissingTable ? await missingTable(db, error.id) : error;
    });
}

/** See `Catalog.registerTable`. */
export async function registerTable(
  db: CatalogDatabase,
  self: string,
  table: Declaration & { location: string },
  { replace }: { replace: boolean },
): Promise<{ table: TableRecord; replaced?: TableRecord }> {
  const { id, location } = table;
  checkTableId(id);
  return db.write(async (t) => {
    const existing = replace ? await liveTable(db, t, id) : undefined;
    if (existing?.location === location) {
      return { table: tableRecord(await replaceProperties(t, existing.key, table.properties)) };
    }
    if (existing) await deregisterRow(t, existing);
    await t.deleteFrom("deregistered_locations").where("location", "=", location).execute();
    const row = await insertLive(t, self, table, location, 0);
    if (!row) throw locationTaken();
    return { table: tableRecord(row), ...(existing && { replaced: tableRecord(existing) }) };
  });
}

/** See `Catalog.confirmTable`. */
export async function confirmTable(db: CatalogDatabase, key: string): Promise<void> {
  const { numUpdatedRows } = await db.write((t) =>
    t
      .updateTable("tables")
      .set({ declared: 0 })
      .where("key", "=", key)
      .where("state", "=", "live")
      .executeTakeFirst(),
  );
  if (numUpdatedRows === 0n) throw tableDropped();
}

/** See `Catalog.claimFirstVersion`. */
export async function claimFirstVersion(
  db: CatalogDatabase,
  members: ClusterMembers,
  key: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db.write((t) =>
    t
      .updateTable("tables")
      .set({ declared: 2, owner: members.self })
      .where("key", "=", key)
      .where("state", "=", "live")
      .where((e) =>
        e.or([
          e("declared", "=", 1),
          e.and([e("declared", "=", 2), e("owner", "not in", members.alive())]),
        ]),
      )
      .executeTakeFirst(),
  );
  return numUpdatedRows > 0n;
}

/** See `Catalog.releaseFirstVersion`. */
export async function releaseFirstVersion(
  db: CatalogDatabase,
  members: ClusterMembers,
  key: string,
): Promise<void> {
  await db.write((t) =>
    t
      .updateTable("tables")
      .set({ declared: 1 })
      .where("key", "=", key)
      .where("declared", "=", 2)
      .where("owner", "=", members.self)
      .execute(),
  );
}

async function declareOne(
  t: Write,
  self: string,
  root: string,
  declaration: Declaration,
  preferred: string,
): Promise<TableRecord> {
  const isCatalogsChoice = declaration.location === undefined;
  for (let location = preferred; ; location = newLocation(root, declaration.id, true)) {
    const row = await insertLive(t, self, declaration, location, 1);
    if (row) return tableRecord(row);
    if (!isCatalogsChoice) throw locationTaken();
  }
}

/** Inserts a live table; see `insertTable`. */
function insertLive(
  t: Write,
  owner: string,
  { id, properties, creator }: Declaration,
  location: string,
  declared: 0 | 1,
): Promise<TableRow | undefined> {
  const { parent, name } = splitPath(id);
  return insertTable(t, id, {
    key: randomUUID(),
    namespace: parent,
    name,
    location,
    state: "live",
    properties: JSON.stringify(properties),
    storage_options: "{}",
    declared,
    owner,
    created_at: Date.now(),
    creator,
  });
}

async function deregisterOne(db: CatalogDatabase, t: Write, id: TableId): Promise<TableRecord> {
  const row = await liveTable(db, t, id);
  if (!row) throw new MissingTable(id);
  await deregisterRow(t, row);
  return tableRecord(row);
}

/** Deletes a table's row. Records its location: neither adoption nor a new table may use the files. */
async function deregisterRow(t: Write, { key, location, declared }: TableRow): Promise<void> {
  await recordJobOutcomes(t, jobsOfTable(t, key));
  await t.deleteFrom("tables").where("key", "=", key).execute();
  if (declared) return;
  await t
    .insertInto("deregistered_locations")
    .values({ location })
    .onConflict((c) => c.doNothing())
    .execute();
}

function replaceProperties(
  t: Write,
  key: string,
  properties: Record<string, string>,
): Promise<TableRow> {
  return t
    .updateTable("tables")
    .set({ properties: JSON.stringify(properties), declared: 0 })
    .where("key", "=", key)
    .returning(TABLE_COLUMNS)
    .executeTakeFirstOrThrow();
}
