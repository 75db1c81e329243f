import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Removal acknowledgements and leases. */
export function sharedWork(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("departures")
        .addColumn("table_key", text, (c) =>
          c.notNull().references("tables.key").onDelete("cascade"),
        )
        .addColumn("server", text, (c) => c.notNull())
        .addPrimaryKeyConstraint("departures_key", ["table_key", "server"])
        .execute();
      await db.schema
        .createTable("duties")
        .addColumn("name", text, (c) => c.primaryKey())
        .addColumn("owner", text, (c) => c.notNull())
        .addColumn("done_at", sql`bigint`, (c) => c.notNull())
        .execute();
    },
  };
}
