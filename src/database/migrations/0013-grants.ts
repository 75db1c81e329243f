import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Privileges of keys, users and groups. A grant ends with its object. */
export function grantTables(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001-initial.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("grants")
        .addColumn("subject", text, (c) => c.notNull())
        .addColumn("object", text, (c) => c.notNull())
        .addColumn("privilege", text, (c) => c.notNull())
        .addColumn("namespace", text, (c) => c.references("namespaces.path").onDelete("cascade"))
        .addColumn("table_key", text, (c) => c.references("tables.key").onDelete("cascade"))
        .addColumn("row_filter", "text")
        .addColumn("created_at", sql`bigint`, (c) => c.notNull())
        .addPrimaryKeyConstraint("grants_key", ["subject", "object", "privilege"])
        .execute();
      await db.schema
        .createIndex("grants_by_namespace")
        .on("grants")
        .column("namespace")
        .where(sql.ref("namespace"), "is not", sql`null`)
        .execute();
      await db.schema
        .createIndex("grants_by_table")
        .on("grants")
        .column("table_key")
        .where(sql.ref("table_key"), "is not", sql`null`)
        .execute();
    },
  };
}
