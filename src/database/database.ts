import type { Kysely, Transaction } from "kysely";
import type { CatalogSchema } from "./schema.js";
import type { CurrentReader } from "./sqlite/reader.js";

export type Write = Transaction<CatalogSchema>;

export interface CatalogReads {
  /** For reading. */
  readonly read: Kysely<CatalogSchema>;
  /** Reads without a promise that are never stale; SQLite only. */
  readonly reader?: CurrentReader;
}

/** The SQL database under the catalog. */
export interface CatalogDatabase extends CatalogReads {
  readonly kind: "sqlite" | "postgres";
  /**
   * Runs `work` in one transaction; resolves when its effect is durable. `work` may await nothing
   * but the transaction it is given, and may run again when the database asks for a retry.
   */
  write<T>(work: (transaction: Write) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
