import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Shared secrets of the servers of a catalog. */
export function secretTables(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("secrets")
        .addColumn("name", text, (c) => c.primaryKey())
        .addColumn("value", sql`text`, (c) => c.notNull())
        .execute();
    },
  };
}
