import type { Kysely, Transaction } from "kysely";
import type { CatalogSchema } from "./schema.js";
import type { CurrentReader } from "./sqlite/reader.js";

export type Write = Transaction<CatalogSchema>;

/** The SQL database under the catalog. */
export interface CatalogDatabase {
  readonly kind: "sqlite" | "postgres";
  /** For reading. */
  readonly read: Kysely<CatalogSchema>;
  /**
   * Runs `work` in one transaction; resolves when its effect is durable. `work` may await nothing
   * but the transaction it is given, and may run again when the database asks for a retry.
   */
  write<T>(work: (transaction: Write) => Promise<T>): Promise<T>;
  /** Reads without a promise that are never stale; SQLite only. */
  readonly reader?: CurrentReader;
  close(): Promise<void>;
}
