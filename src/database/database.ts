import type { Kysely, Transaction } from "kysely";
import type { CatalogSchema } from "./schema.js";
import type { CurrentReader } from "./sqlite/reader.js";

export type Write = Transaction<CatalogSchema>;

export interface CatalogReads {
  /** For reading. */
  readonly read: Kysely<CatalogSchema>;
  /** Synchronous reads that see every commit; SQLite only. */
  readonly reader?: CurrentReader;
}

/** The SQL database under the catalog. */
export interface CatalogDatabase extends CatalogReads {
  readonly kind: "sqlite" | "postgres";
  /**
   * Runs `work` in one transaction. Resolves when the commit is durable. `work` must await nothing but the
   * transaction, and must be repeatable: it runs again after a serialization failure.
   */
  write<T>(work: (transaction: Write) => Promise<T>): Promise<T>;
  /** Like `write`. On Postgres it has connections of its own: it does not wait for those that requests use. */
  writeWithPriority: CatalogDatabase["write"];
  close(): Promise<void>;
}
