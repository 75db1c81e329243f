import { SqliteAdapter, SqliteDialect } from "kysely";

/**
 * Makes Kysely run the migrations in one transaction, so that a full disk leaves the former schema. Its SQLite dialect
 * does not, although SQLite supports transactional DDL.
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
