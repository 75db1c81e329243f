import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Declared and deregistered tables, transaction records, paused jobs. */
export function transactionTables(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;
  const millis = sql`bigint`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .alterTable("tables")
        .addColumn("declared", "integer", (c) => c.notNull().defaultTo(0))
        .execute();
      // Every scan of the root reads the declared tables.
      await db.schema
        .createIndex("tables_declared")
        .on("tables")
        .column("location")
        .where(sql.ref("declared"), "<>", sql.lit(0))
        .execute();
      await db.schema
        .alterTable("jobs")
        .addColumn("paused", "integer", (c) => c.notNull().defaultTo(0))
        .execute();
      await db.schema.createIndex("jobs_by_age").on("jobs").columns(["created_at", "id"]).execute();
      await db.schema
        .createTable("deregistered_locations")
        .addColumn("location", text, (c) => c.primaryKey())
        .execute();
      await db.schema
        .createTable("transactions")
        .addColumn("id", text, (c) => c.primaryKey())
        .addColumn("status", text, (c) => c.notNull())
        .addColumn("properties", sql`text`, (c) => c.notNull())
        .addColumn("created_at", millis, (c) => c.notNull())
        .execute();
      await db.schema
        .createIndex("transactions_by_age")
        .on("transactions")
        .column("created_at")
        .execute();
    },
  };
}
