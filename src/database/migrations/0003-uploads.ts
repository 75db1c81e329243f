import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Multipart writes. */
export function uploadTables(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;
  const bigint = sql`bigint`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("uploads")
        .addColumn("id", text, (c) => c.primaryKey())
        .addColumn("table_key", text, (c) =>
          c.notNull().references("tables.key").onDelete("cascade"),
        )
        .addColumn("branch", text, (c) => c.notNull())
        .addColumn("version", bigint, (c) => c.notNull())
        .addColumn("overwrite", "integer")
        .addColumn("state", text, (c) => c.notNull())
        .addColumn("owner", text)
        .addColumn("result", bigint)
        .addColumn("touched_at", bigint, (c) => c.notNull())
        .addCheckConstraint(
          "uploads_state",
          sql`state in ('open', 'committing', 'done', 'abandoned')`,
        )
        .execute();
      await db.schema
        .createIndex("uploads_by_table")
        .on("uploads")
        .columns(["table_key", "state"])
        .execute();
      await db.schema
        .createIndex("uploads_by_age")
        .on("uploads")
        .columns(["state", "touched_at"])
        .execute();
      await db.schema
        .createTable("upload_parts")
        .addColumn("id", text, (c) => c.primaryKey())
        .addColumn("upload_id", text, (c) =>
          c.notNull().references("uploads.id").onDelete("cascade"),
        )
        .addColumn("name", text)
        .addColumn("contents", "text", (c) => c.notNull())
        .execute();
      await db.schema
        .createIndex("upload_parts_by_name")
        .unique()
        .on("upload_parts")
        .columns(["upload_id", "name"])
        .execute();
    },
  };
}
