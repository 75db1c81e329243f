import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** The names of all namespaces that the root has or had: LanceDB clients select them as databases. */
export function databaseTable(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001-initial.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("databases")
        .addColumn("name", text, (c) => c.primaryKey())
        .execute();
      await db
        .insertInto("databases")
        .columns(["name"])
        .expression((e) => e.selectFrom("namespaces").select("name").where("parent", "=", ""))
        .execute();
    },
  };
}
