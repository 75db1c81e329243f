import { type Kysely, type Migration, Migrator, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";
import { isMissingTable } from "../sql-error.js";
import { initialTables } from "./0001-initial.js";
import { referenceLocks } from "./0009-reference-locks.js";
import { settingTables } from "./0010-settings.js";
import { commitPauses } from "./0011-commit-pauses.js";
import { keyLifetimes } from "./0012-key-lifetimes.js";
import { grantTables } from "./0013-grants.js";
import { databaseTable } from "./0014-databases.js";
import { rowFilters } from "./0015-row-filters.js";
import { autoRefreshTable } from "./0016-auto-refreshes.js";
import { cloneTable } from "./0017-clones.js";
import { tableCreators } from "./0018-table-creators.js";
import { clusterNames } from "./0019-cluster-names.js";

/** All migrations in order. A released one is never edited, renamed or removed: catalogs record them by name. */
const migrations = (kind: "sqlite" | "postgres"): Record<string, Migration> => ({
  "0001-initial": initialTables(kind),
  "0009-reference-locks": referenceLocks(kind),
  "0010-settings": settingTables(kind),
  "0011-commit-pauses": commitPauses(kind),
  "0012-key-lifetimes": keyLifetimes(kind),
  "0013-grants": grantTables(kind),
  "0014-databases": databaseTable(kind),
  "0015-row-filters": rowFilters,
  "0016-auto-refreshes": autoRefreshTable(kind),
  "0017-clones": cloneTable(kind),
  "0018-table-creators": tableCreators(kind),
  "0019-cluster-names": clusterNames,
});

const MIGRATIONS_TABLE = "joust_migrations";

/** The migrations that `0001-initial` replaces. It makes the same tables as all of them. */
const REPLACED = [
  "0001-catalog",
  "0002-transactions",
  "0003-uploads",
  "0004-job-results",
  "0005-requests",
  "0006-departures",
  "0007-secrets",
  "0008-clean-ups",
];

/**
 * Migrates the database to the schema of this version. Several servers may do this at the same time.
 *
 * @throws Error with one sentence when a newer joust has migrated the database; nothing is changed then
 */
export async function migrate(
  db: Kysely<CatalogSchema>,
  kind: "sqlite" | "postgres",
): Promise<void> {
  const known = Object.keys(migrations(kind));
  await refuseNewer(db, [...known, ...REPLACED]);
  await recordReplaced(db);
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations(kind) },
    migrationTableName: MIGRATIONS_TABLE,
    migrationLockTableName: "joust_migrations_lock",
  });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
}

/** Unknown migrations are those of a newer version. Kysely would report them as corrupt. */
async function refuseNewer(db: Kysely<CatalogSchema>, known: readonly string[]): Promise<void> {
  const newer = (await executed(db)).filter((name) => !known.includes(name));
  if (newer.length === 0) return;
  throw new Error(
    `the catalog belongs to a newer version of joust (it has ${newer.sort().join(", ")}): ` +
      "start that version, or restore the catalog from a backup that this version made",
  );
}

/**
 * Records `0001-initial` in place of the migrations that it replaces.
 *
 * @throws Error with one sentence when the catalog has only some of them; nothing is changed then
 */
async function recordReplaced(db: Kysely<CatalogSchema>): Promise<void> {
  // Most catalogs have none, and need no transaction.
  if (!(await executed(db)).some((name) => REPLACED.includes(name))) return;
  await db.transaction().execute(async (transaction) => {
    const table = sql.table(MIGRATIONS_TABLE);
    const found = (await executed(transaction)).filter((name) => REPLACED.includes(name));
    // Another server has just done it.
    if (found.length === 0) return;
    const missing = REPLACED.filter((name) => !found.includes(name));
    if (missing.length > 0) {
      throw new Error(
        `the catalog is older than joust 0.1.0 (it lacks ${missing.join(", ")}): ` +
          "start joust 0.1.0 with it once, and then this version",
      );
    }
    const [first, ...others] = REPLACED;
    await sql`delete from ${table} where name in (${sql.join(others)})`.execute(transaction);
    await sql`update ${table} set name = '0001-initial' where name = ${first}`.execute(transaction);
  });
}

/** The names of the migrations that the database has. */
async function executed(db: Kysely<CatalogSchema>): Promise<string[]> {
  const query = sql<{ name: string }>`select name from ${sql.table(MIGRATIONS_TABLE)}`;
  const { rows } = await query.execute(db).catch((error) => {
    if (isMissingTable(error)) return { rows: [] };
    throw error;
  });
  return rows.map(({ name }) => name);
}
