import { randomUUID } from "node:crypto";
import pLimit from "p-limit";
import type { Engine, RootContents } from "../../../native/index.js";
import { chunks } from "../../database/chunks.js";
import type { CatalogDatabase, Write } from "../../database/database.js";
import { available } from "../../database/sql-error.js";
import { operatorMessage } from "../../foundation/errors.js";
import { checkNamespacePath, checkTableId } from "../names.js";
import { insertNamespace } from "../namespaces.js";
import { encodePath, splitPath } from "../path.js";
import { isLocationFree } from "../tables/free-location.js";
import { mayExist } from "../tables/location.js";

export type RootListing = Pick<RootContents, "tables" | "namespaces">;
type ListedTable = RootListing["tables"][number];
/** Returns what is stored at a location. */
export type ContentsOf = (location: string) => ReturnType<Engine["contents"]>;

export interface Adoption {
  adopted: ListedTable[];
  /** Tables that the catalog cannot adopt, and the reasons. */
  refused: { table: ListedTable; reason: string }[];
}

/** Locations that are read at the same time. */
const CONCURRENCY = 64;

/**
 * Adopts the tables and namespaces that other tools created: adds them to the catalog.
 *
 * 1. A declared table of the catalog that has a version by now is confirmed.
 * 2. A table is adopted when the catalog has neither its location nor its name, in whatever state.
 * 3. A namespace is adopted when the listing or an adopted table names it.
 */
export async function adoptRootListing(
  db: CatalogDatabase,
  self: string,
  listing: RootListing,
  contentsOf: ContentsOf,
): Promise<Adoption> {
  await confirmDeclared(db, listing.tables, contentsOf);
  const { unknown, refused } = await unknownTables(db, listing.tables, contentsOf);
  const namespaces = await unknownNamespaces(db, listing.namespaces, unknown);
  if (unknown.length === 0 && namespaces.length === 0) return { adopted: [], refused };
  return db.write(async (t) => {
    // The transaction may run again.
    const result: Adoption = { adopted: [], refused: [...refused] };
    for (const path of namespaces) await insertNamespace(t, path, "{}", { adopted: true });
    for (const table of unknown) {
      if (!isValid(() => checkTableId(table.id))) {
        result.refused.push({ table, reason: "its name is not valid here" });
        continue;
      }
      if (!(await isLocationFree(t, table.location))) {
        result.refused.push({ table, reason: "its location is around or inside another table's" });
        continue;
      }
      const key = await insertLive(t, self, table);
      if (key === undefined) {
        result.refused.push({ table, reason: "its name belongs to another table" });
      } else if (await mayExist(table.location)) {
        result.adopted.push(table);
      } else {
        // The listing showed a table that this server has dropped or withdrawn meanwhile.
        await t.deleteFrom("tables").where("key", "=", key).execute();
      }
    }
    return result;
  });
}

/** Returns the key of the new row; undefined when the name or the location is in use. */
async function insertLive(
  t: Write,
  owner: string,
  table: ListedTable,
): Promise<string | undefined> {
  const { parent, name } = splitPath(table.id);
  const inserted = await t
    .insertInto("tables")
    .values({
      key: randomUUID(),
      namespace: parent,
      name,
      location: table.location,
      state: "live",
      properties: "{}",
      storage_options: "{}",
      owner,
      created_at: Date.now(),
    })
    .onConflict((c) => c.doNothing())
    .returning("key")
    .executeTakeFirst();
  return inserted?.key;
}

/** Confirms the declared tables whose first version another tool has written. */
async function confirmDeclared(
  db: CatalogDatabase,
  tables: readonly ListedTable[],
  contentsOf: ContentsOf,
): Promise<void> {
  const declared = await available(
    db.read
      .selectFrom("tables")
      .select("location")
      .where("declared", "<>", 0)
      .where("state", "=", "live")
      .execute(),
  );
  if (declared.length === 0) return;
  const listed = new Set(tables.map((table) => table.location));
  const candidates = declared.map((row) => row.location).filter((location) => listed.has(location));
  const written: string[] = [];
  await pLimit(CONCURRENCY).map(candidates, async (location) => {
    const contents = await contentsOf(location).catch(() => undefined);
    if (contents === "table") written.push(location);
  });
  for (const chunk of chunks(written)) {
    await db.write((t) =>
      t.updateTable("tables").set({ declared: 0 }).where("location", "in", chunk).execute(),
    );
  }
}

/**
 * Returns the tables whose location is not in the catalog, and refuses directories with a table's name that hold no
 * table. Omits tables that a manifest lists but whose files do not exist.
 */
async function unknownTables(
  db: CatalogDatabase,
  tables: readonly ListedTable[],
  contentsOf: ContentsOf,
): Promise<{ unknown: ListedTable[]; refused: Adoption["refused"] }> {
  const known = new Set<string>();
  for (const chunk of chunks(tables)) {
    const locations = chunk.map((table) => table.location);
    const rows = await available(
      db.read.selectFrom("tables").select("location").where("location", "in", locations).execute(),
    );
    for (const row of rows) known.add(row.location);
    const deregistered = await available(
      db.read
        .selectFrom("deregistered_locations")
        .select("location")
        .where("location", "in", locations)
        .execute(),
    );
    for (const row of deregistered) known.add(row.location);
  }
  const unknown = new Set<ListedTable>();
  const refused: Adoption["refused"] = [];
  const candidates = tables.filter((table) => !known.has(table.location));
  await pLimit(CONCURRENCY).map(candidates, async (table) => {
    try {
      const contents = await contentsOf(table.location);
      if (contents === "table") unknown.add(table);
      else if (contents !== "nothing") refused.push({ table, reason: refusals[contents] });
    } catch (error) {
      refused.push({ table, reason: `it cannot be read: ${operatorMessage(error)}` });
    }
  });
  return { unknown: candidates.filter((table) => unknown.has(table)), refused };
}

const refusals = {
  other: "no Lance table is there",
  unreadable: "it cannot be read",
  behindLink: "it lies behind a symbolic link",
} as const;

/** Returns the namespaces to create, parents first: those of the listing and those of the unknown tables. */
async function unknownNamespaces(
  db: CatalogDatabase,
  listed: readonly string[][],
  tables: readonly ListedTable[],
): Promise<string[][]> {
  const missing = new Map<string, string[]>();
  const add = (path: readonly string[]) => {
    for (let depth = 1; depth <= path.length; depth++) {
      const prefix = path.slice(0, depth);
      missing.set(encodePath(prefix), prefix);
    }
  };
  for (const path of listed) if (isValid(() => checkNamespacePath(path))) add(path);
  // Dropped namespaces remain in a manifest that joust does not write.
  for (const path of await pathsIn(db, "dropped_namespaces", [...missing.keys()]))
    missing.delete(path);
  // A new table in a dropped namespace restores the namespace.
  for (const table of tables) if (isValid(() => checkTableId(table.id))) add(table.id.slice(0, -1));
  for (const path of await pathsIn(db, "namespaces", [...missing.keys()])) missing.delete(path);
  return [...missing.values()].sort((a, b) => a.length - b.length);
}

async function pathsIn(
  db: CatalogDatabase,
  table: "namespaces" | "dropped_namespaces",
  paths: readonly string[],
): Promise<string[]> {
  const existing: string[] = [];
  for (const chunk of chunks(paths)) {
    const query = db.read.selectFrom(table).select("path").where("path", "in", chunk);
    for (const row of await available(query.execute())) existing.push(row.path);
  }
  return existing;
}

function isValid(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}
