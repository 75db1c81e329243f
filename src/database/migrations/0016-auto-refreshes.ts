import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Columns and views that refresh themselves. */
export function autoRefreshTable(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001-initial.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("auto_refreshes")
        .addColumn("table_key", text, (c) =>
          c.notNull().references("tables.key").onDelete("cascade"),
        )
        .addColumn("column_name", text, (c) => c.notNull())
        .addColumn("interval_ms", "bigint", (c) => c.notNull())
        .addColumn("always", "integer", (c) => c.notNull())
        .addColumn("check_at", "bigint", (c) => c.notNull())
        .addColumn("state", sql`text`, (c) => c.notNull())
        .addPrimaryKeyConstraint("auto_refreshes_key", ["table_key", "column_name"])
        .execute();
      await db.schema
        .createIndex("auto_refreshes_check_at")
        .on("auto_refreshes")
        .column("check_at")
        .execute();
    },
  };
}
