import type { CatalogReads, Write } from "../database/database.js";
import { available } from "../database/sql-error.js";
import { CurrentCache } from "../database/sqlite/reader.js";

/** Records that the root has a namespace of this name. It stays recorded after the namespace is dropped. */
export async function recordDatabase(t: Write, name: string): Promise<void> {
  await t
    .insertInto("databases")
    .values({ name })
    .onConflict((c) => c.doNothing())
    .execute();
}

/**
 * The names that the root has or had a namespace of. With SQLite it answers from memory. With Postgres only a
 * name that is known stays in memory: another server may create a namespace at any time, and a request that still took
 * its name for that of the root would write to the root.
 */
export class DatabaseNames {
  readonly #current: CurrentCache<boolean> | undefined;
  readonly #known = new Set<string>();

  constructor(private readonly db: CatalogReads) {
    if (!db.reader) return;
    const find = db.reader.prepare(findDatabase(db, ""));
    this.#current = new CurrentCache(db.reader, (name) => find(name) !== undefined);
  }

  isDatabaseSync(name: string): boolean | undefined {
    return this.#current ? this.#current.get(name) : this.#known.has(name) || undefined;
  }

  async isDatabase(name: string): Promise<boolean> {
    const row = await available(findDatabase(this.db, name).executeTakeFirst());
    if (row) this.#known.add(name);
    return row !== undefined;
  }
}

const findDatabase = (db: CatalogReads, name: string) =>
  db.read.selectFrom("databases").select("name").where("name", "=", name);
