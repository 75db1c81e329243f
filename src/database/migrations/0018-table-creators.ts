import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Who created a table. The tables of older catalogs have no creator. */
export function tableCreators(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001-initial.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema.alterTable("tables").addColumn("creator", text).execute();
      // In the order of the listing of all tables, which has pages.
      await db.schema
        .createIndex("tables_by_creator")
        .on("tables")
        .columns(["creator", "namespace", "name"])
        .where(sql.ref("state"), "=", sql.lit("live"))
        .execute();
    },
  };
}
