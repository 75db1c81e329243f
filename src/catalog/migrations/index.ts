import { type Kysely, type Migration, Migrator } from "kysely";
import type { CatalogSchema } from "../schema.js";
import { catalogTables } from "./0001-catalog.js";
import { transactionTables } from "./0002-transactions.js";
import { uploadTables } from "./0003-uploads.js";
import { jobResults } from "./0004-job-results.js";
import { requestTables } from "./0005-requests.js";
import { sharedWork } from "./0006-departures.js";
import { secretTables } from "./0007-secrets.js";
import { cleanUpTables } from "./0008-clean-ups.js";

/** Every change of the catalog's tables, in order. Released ones are never edited. */
const migrations = (kind: "sqlite" | "postgres"): Record<string, Migration> => ({
  "0001-catalog": catalogTables(kind),
  "0002-transactions": transactionTables(kind),
  "0003-uploads": uploadTables(kind),
  "0004-job-results": jobResults,
  "0005-requests": requestTables(kind),
  "0006-departures": sharedWork(kind),
  "0007-secrets": secretTables(kind),
  "0008-clean-ups": cleanUpTables(kind),
});

/** Brings the database to this version's tables. Safe when several servers start at once. */
export async function migrate(
  db: Kysely<CatalogSchema>,
  kind: "sqlite" | "postgres",
): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations(kind) },
    migrationTableName: "joust_migrations",
    migrationLockTableName: "joust_migrations_lock",
  });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
}
