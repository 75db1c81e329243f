import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Namespaces, tables, jobs, API keys and cluster members. */
export function catalogTables(kind: "sqlite" | "postgres"): Migration {
  // Byte order on both databases. Postgres would sort by the locale.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;
  const json = sql`text`;
  const millis = sql`bigint`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("namespaces")
        .addColumn("path", text, (c) => c.primaryKey())
        .addColumn("parent", text, (c) => c.references("namespaces.path"))
        .addColumn("name", text, (c) => c.notNull())
        .addColumn("properties", json, (c) => c.notNull())
        .addColumn("found", "integer", (c) => c.notNull())
        .addColumn("created_at", millis, (c) => c.notNull())
        .execute();
      await db.schema
        .createTable("dropped_namespaces")
        .addColumn("path", text, (c) => c.primaryKey())
        .execute();
      await db.schema
        .createIndex("namespaces_by_parent")
        .unique()
        .on("namespaces")
        .columns(["parent", "name"])
        .execute();
      await db
        .insertInto("namespaces")
        .values({
          path: "",
          parent: null,
          name: "",
          properties: "{}",
          found: 0,
          created_at: Date.now(),
        })
        .execute();

      await db.schema
        .createTable("tables")
        .addColumn("key", text, (c) => c.primaryKey())
        .addColumn("namespace", text, (c) => c.references("namespaces.path"))
        .addColumn("name", text, (c) => c.notNull())
        .addColumn("location", text, (c) => c.notNull().unique())
        .addColumn("state", text, (c) => c.notNull())
        .addColumn("properties", json, (c) => c.notNull())
        .addColumn("storage_options", json, (c) => c.notNull())
        .addColumn("owner", text, (c) => c.notNull())
        .addColumn("created_at", millis, (c) => c.notNull())
        .addCheckConstraint("tables_state", sql`state in ('reserved', 'live', 'dropped')`)
        .addCheckConstraint("tables_place", sql`(state = 'dropped') = (namespace is null)`)
        .execute();
      await db.schema
        .createIndex("tables_by_name")
        .unique()
        .on("tables")
        .columns(["namespace", "name"])
        .execute();
      // The search for orphaned tables must not read all tables.
      await db.schema
        .createIndex("tables_unfinished")
        .on("tables")
        .column("key")
        .where(sql.ref("state"), "<>", sql.lit("live"))
        .execute();

      await db.schema
        .createTable("jobs")
        .addColumn("id", text, (c) => c.primaryKey())
        .addColumn("kind", text, (c) => c.notNull())
        .addColumn("table_key", text, (c) =>
          c.notNull().references("tables.key").onDelete("cascade"),
        )
        .addColumn("name", text, (c) => c.notNull())
        .addColumn("spec", json, (c) => c.notNull())
        .addColumn("state", text, (c) => c.notNull())
        .addColumn("progress", json)
        .addColumn("error_code", "integer")
        .addColumn("error_message", "text")
        .addColumn("owner", text)
        .addColumn("attempts", "integer", (c) => c.notNull())
        .addColumn("created_at", millis, (c) => c.notNull())
        .addColumn("updated_at", millis, (c) => c.notNull())
        .execute();
      await db.schema
        .createIndex("jobs_by_table")
        .on("jobs")
        .columns(["table_key", "name", "created_at"])
        .execute();
      await db.schema
        .createIndex("jobs_by_state")
        .on("jobs")
        .columns(["state", "created_at"])
        .execute();
      await db.schema
        .createIndex("jobs_one_active_per_name")
        .unique()
        .on("jobs")
        .columns(["table_key", "name"])
        .where(sql.ref("state"), "in", sql`('QUEUED', 'RUNNING')`)
        .execute();
      await db.schema
        .createIndex("jobs_one_running_per_table")
        .unique()
        .on("jobs")
        .column("table_key")
        .where(sql.ref("state"), "=", sql.lit("RUNNING"))
        .execute();

      await db.schema
        .createTable("api_keys")
        .addColumn("id", text, (c) => c.primaryKey())
        .addColumn("name", text, (c) => c.notNull())
        .addColumn("role", text, (c) => c.notNull())
        .addColumn("hash", text, (c) => c.notNull().unique())
        .addColumn("created_at", millis, (c) => c.notNull())
        .execute();

      await db.schema
        .createTable("servers")
        .addColumn("id", text, (c) => c.primaryKey())
        .addColumn("alive_until", millis, (c) => c.notNull())
        .execute();
    },
  };
}
