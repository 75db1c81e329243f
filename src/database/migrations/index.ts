import { type Kysely, type Migration, Migrator, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";
import { isMissingTable } from "../sql-error.js";
import { catalogTables } from "./0001-catalog.js";
import { transactionTables } from "./0002-transactions.js";
import { uploadTables } from "./0003-uploads.js";
import { jobResults } from "./0004-job-results.js";
import { requestTables } from "./0005-requests.js";
import { sharedWork } from "./0006-departures.js";
import { secretTables } from "./0007-secrets.js";
import { cleanUpTables } from "./0008-clean-ups.js";
import { referenceLocks } from "./0009-reference-locks.js";
import { settingTables } from "./0010-settings.js";
import { commitPauses } from "./0011-commit-pauses.js";
import { keyLifetimes } from "./0012-key-lifetimes.js";
import { grantTables } from "./0013-grants.js";
import { databaseTable } from "./0014-databases.js";
import { rowFilters } from "./0015-row-filters.js";
import { autoRefreshTable } from "./0016-auto-refreshes.js";
import { cloneTable } from "./0017-clones.js";

/** All migrations in order. A released one is never edited, renamed or removed: catalogs record them by name. */
const migrations = (kind: "sqlite" | "postgres"): Record<string, Migration> => ({
  "0001-catalog": catalogTables(kind),
  "0002-transactions": transactionTables(kind),
  "0003-uploads": uploadTables(kind),
  "0004-job-results": jobResults,
  "0005-requests": requestTables(kind),
  "0006-departures": sharedWork(kind),
  "0007-secrets": secretTables(kind),
  "0008-clean-ups": cleanUpTables(kind),
  "0009-reference-locks": referenceLocks(kind),
  "0010-settings": settingTables(kind),
  "0011-commit-pauses": commitPauses(kind),
  "0012-key-lifetimes": keyLifetimes(kind),
  "0013-grants": grantTables(kind),
  "0014-databases": databaseTable(kind),
  "0015-row-filters": rowFilters,
  "0016-auto-refreshes": autoRefreshTable(kind),
  "0017-clones": cloneTable(kind),
});

const MIGRATIONS_TABLE = "joust_migrations";

/**
 * Migrates the database to the schema of this version. Several servers may do this at the same time.
 *
 * @throws Error with one sentence when a newer joust has migrated the database; nothing is changed then
 */
export async function migrate(
  db: Kysely<CatalogSchema>,
  kind: "sqlite" | "postgres",
): Promise<void> {
  await refuseNewer(db, Object.keys(migrations(kind)));
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
  const executed = sql<{ name: string }>`select name from ${sql.table(MIGRATIONS_TABLE)}`;
  const { rows } = await executed.execute(db).catch((error) => {
    if (isMissingTable(error)) return { rows: [] };
    throw error;
  });
  const newer = rows.map(({ name }) => name).filter((name) => !known.includes(name));
  if (newer.length === 0) return;
  throw new Error(
    `the catalog belongs to a newer version of joust (it has ${newer.sort().join(", ")}): ` +
      "start that version, or restore the catalog from a backup that this version made",
  );
}
