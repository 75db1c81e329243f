import { SqliteAdapter, SqliteDialect } from "kysely";

/**
 * SQLite with migrations in one transaction: a disk that fills up in the middle leaves the tables as they were.
 * Kysely runs them without one, though SQLite's changes of tables are transactional.
 */
export class CatalogDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter();
  }
}

class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}
