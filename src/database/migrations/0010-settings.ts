import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Properties of the catalog itself, such as its root. */
export function settingTables(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001-initial.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("settings")
        .addColumn("name", text, (c) => c.primaryKey())
        .addColumn("value", sql`text`, (c) => c.notNull())
        .execute();
    },
  };
}
