import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Idempotency keys. */
export function requestTables(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("requests")
        .addColumn("id", text, (c) => c.primaryKey())
        .addColumn("fingerprint", text, (c) => c.notNull())
        .addColumn("attempt", text, (c) => c.notNull())
        .addColumn("owner", text)
        .addColumn("reply", sql`text`)
        .addColumn("created_at", sql`bigint`, (c) => c.notNull())
        .execute();
      await db.schema.createIndex("requests_by_age").on("requests").column("created_at").execute();
    },
  };
}
