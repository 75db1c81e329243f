import { randomUUID } from "node:crypto";
import type { Engine, RootContents } from "../../../native/index.js";
import type { CatalogDatabase, Write } from "../../database/database.js";
import { available } from "../../database/sql-error.js";
import { concurrently } from "../../foundation/concurrently.js";
import { operatorMessage } from "../../foundation/errors.js";
import { checkNamespacePath, checkTableId } from "../names.js";
import { insertNamespace } from "../namespaces.js";
import { encodePath, splitPath } from "../path.js";
import { isFree } from "../tables/free-location.js";
import { mayExist } from "../tables/location.js";

export type Found = Pick<RootContents, "tables" | "namespaces">;
type FoundTable = Found["tables"][number];
/** What is at a location. */
export type ContentsOf = (location: string) => ReturnType<Engine["contents"]>;

export interface Adoption {
  adopted: FoundTable[];
  /** Found tables that the catalog cannot take in, and why. */
  refused: { table: FoundTable; reason: string }[];
}

/** Bound parameters in one statement; both databases take more. */
const CHUNK = 500;
/** Locations that are looked at at the same time. */
const CONCURRENCY = 64;

/**
 * Takes tables and namespaces that other tools made into the catalog. A location the catalog
 * knows, whatever its state, is left alone; so is a name that is taken.
 */
export async function adoptFound(
  db: CatalogDatabase,
  self: string,
  found: Found,
  contentsOf: ContentsOf,
): Promise<Adoption> {
  await confirmDeclared(db, found.tables, contentsOf);
  const { unknown, refused } = await unknownTables(db, found.tables, contentsOf);
  const namespaces = await unknownNamespaces(db, found.namespaces, unknown);
  if (unknown.length === 0 && namespaces.length === 0) return { adopted: [], refused };
  return db.write(async (t) => {
    // The transaction may run again.
    const result: Adoption = { adopted: [], refused: [...refused] };
    for (const path of namespaces) await insertNamespace(t, path, "{}", { found: true });
    for (const table of unknown) {
      if (!isValid(() => checkTableId(table.id))) {
        result.refused.push({ table, reason: "its name is not valid here" });
        continue;
      }
      if (!(await isFree(t, table.location))) {
        result.refused.push({ table, reason: "its location is around or inside another table's" });
        continue;
      }
      const key = await insertLive(t, self, table);
      if (key === undefined) {
        result.refused.push({ table, reason: "its name belongs to another table" });
      } else if (await mayExist(table.location)) {
        result.adopted.push(table);
      } else {
        // What was seen there was of a table that this server dropped or withdrew in the meantime.
        await t.deleteFrom("tables").where("key", "=", key).execute();
      }
    }
    return result;
  });
}

/** The new row's key; undefined when its name or its location is taken. */
async function insertLive(t: Write, owner: string, table: FoundTable): Promise<string | undefined> {
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

/** Declared tables whose first version somebody has written are tables like others. */
async function confirmDeclared(
  db: CatalogDatabase,
  tables: readonly FoundTable[],
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
  const found = new Set(tables.map((table) => table.location));
  const there = declared.map((row) => row.location).filter((location) => found.has(location));
  const written: string[] = [];
  await concurrently(there, CONCURRENCY, async (location) => {
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
 * Tables that the catalog does not know, and directories with a table's name that hold none. Those whose
 * files a manifest lists but nobody has any more are left out.
 */
async function unknownTables(
  db: CatalogDatabase,
  tables: readonly FoundTable[],
  contentsOf: ContentsOf,
): Promise<{ unknown: FoundTable[]; refused: Adoption["refused"] }> {
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
  const unknown = new Set<FoundTable>();
  const refused: Adoption["refused"] = [];
  const candidates = tables.filter((table) => !known.has(table.location));
  await concurrently(candidates, CONCURRENCY, async (table) => {
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

/** Namespaces to create, parents first: those that are listed, and those that unknown tables are in. */
async function unknownNamespaces(
  db: CatalogDatabase,
  listed: readonly string[][],
  tables: readonly FoundTable[],
): Promise<string[][]> {
  const wanted = new Map<string, string[]>();
  const want = (path: readonly string[]) => {
    for (let depth = 1; depth <= path.length; depth++) {
      const prefix = path.slice(0, depth);
      wanted.set(encodePath(prefix), prefix);
    }
  };
  for (const path of listed) if (isValid(() => checkNamespacePath(path))) want(path);
  // Dropped here, but still listed by a manifest that joust does not write.
  for (const path of await pathsIn(db, "dropped_namespaces", [...wanted.keys()]))
    wanted.delete(path);
  // A table that somebody put there since brings its namespace back.
  for (const table of tables)
    if (isValid(() => checkTableId(table.id))) want(table.id.slice(0, -1));
  for (const path of await pathsIn(db, "namespaces", [...wanted.keys()])) wanted.delete(path);
  return [...wanted.values()].sort((a, b) => a.length - b.length);
}

async function pathsIn(
  db: CatalogDatabase,
  table: "namespaces" | "dropped_namespaces",
  paths: readonly string[],
): Promise<string[]> {
  const known: string[] = [];
  for (const chunk of chunks(paths)) {
    const query = db.read.selectFrom(table).select("path").where("path", "in", chunk);
    for (const row of await available(query.execute())) known.push(row.path);
  }
  return known;
}

function* chunks<T>(items: readonly T[]): Generator<T[]> {
  for (let start = 0; start < items.length; start += CHUNK) {
    yield items.slice(start, start + CHUNK);
  }
}

function isValid(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}
