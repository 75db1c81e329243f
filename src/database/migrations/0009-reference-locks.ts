import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Locks of the tags and branches of tables. */
export function referenceLocks(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001-initial.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("reference_locks")
        .addColumn("table_key", text, (c) =>
          c.primaryKey().references("tables.key").onDelete("cascade"),
        )
        .addColumn("owner", text, (c) => c.notNull())
        .addColumn("token", text, (c) => c.notNull())
        .execute();
    },
  };
}
