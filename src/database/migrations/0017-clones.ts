import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Shallow clones. A row outlives the tables that have its locations: a deregistered table keeps its files. */
export function cloneTable(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001-initial.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("clones")
        .addColumn("location", text, (c) => c.primaryKey())
        .addColumn("source", text, (c) => c.notNull())
        .addColumn("tag", text, (c) => c.notNull())
        .execute();
      await db.schema.createIndex("clones_by_source").on("clones").column("source").execute();
    },
  };
}
