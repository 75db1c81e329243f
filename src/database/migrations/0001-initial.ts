import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** The catalog of joust 0.1.0. */
export function initialTables(kind: "sqlite" | "postgres"): Migration {
  const types: ColumnTypes = {
    // Byte order on both databases. Postgres would sort by the locale.
    text: kind === "postgres" ? sql`text collate "C"` : sql`text`,
    json: sql`text`,
    bigint: sql`bigint`,
  };
  return {
    async up(db: Kysely<CatalogSchema>) {
      await createNamespaces(db, types);
      await createTables(db, types);
      await createJobs(db, types);
      await createUploads(db, types);
      await createRequests(db, types);
      await createKeys(db, types);
      await createMembers(db, types);
    },
  };
}

type SqlType = ReturnType<typeof sql>;

interface ColumnTypes {
  readonly text: SqlType;
  readonly json: SqlType;
  /** Also for times, in milliseconds since 1970. */
  readonly bigint: SqlType;
}

async function createNamespaces(
  db: Kysely<CatalogSchema>,
  { text, json, bigint }: ColumnTypes,
): Promise<void> {
  await db.schema
    .createTable("namespaces")
    .addColumn("path", text, (c) => c.primaryKey())
    .addColumn("parent", text, (c) => c.references("namespaces.path"))
    .addColumn("name", text, (c) => c.notNull())
    .addColumn("properties", json, (c) => c.notNull())
    .addColumn("found", "integer", (c) => c.notNull())
    .addColumn("created_at", bigint, (c) => c.notNull())
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
}

async function createTables(
  db: Kysely<CatalogSchema>,
  { text, json, bigint }: ColumnTypes,
): Promise<void> {
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
    .addColumn("created_at", bigint, (c) => c.notNull())
    .addColumn("declared", "integer", (c) => c.notNull().defaultTo(0))
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
  // Every scan of the root reads the declared tables.
  await db.schema
    .createIndex("tables_declared")
    .on("tables")
    .column("location")
    .where(sql.ref("declared"), "<>", sql.lit(0))
    .execute();
  await db.schema
    .createTable("deregistered_locations")
    .addColumn("location", text, (c) => c.primaryKey())
    .execute();
  await db.schema
    .createTable("transactions")
    .addColumn("id", text, (c) => c.primaryKey())
    .addColumn("status", text, (c) => c.notNull())
    .addColumn("properties", json, (c) => c.notNull())
    .addColumn("created_at", bigint, (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex("transactions_by_age")
    .on("transactions")
    .column("created_at")
    .execute();
}

async function createJobs(
  db: Kysely<CatalogSchema>,
  { text, json, bigint }: ColumnTypes,
): Promise<void> {
  await db.schema
    .createTable("jobs")
    .addColumn("id", text, (c) => c.primaryKey())
    .addColumn("kind", text, (c) => c.notNull())
    .addColumn("table_key", text, (c) => c.notNull().references("tables.key").onDelete("cascade"))
    .addColumn("name", text, (c) => c.notNull())
    .addColumn("spec", json, (c) => c.notNull())
    .addColumn("state", text, (c) => c.notNull())
    .addColumn("progress", json)
    .addColumn("error_code", "integer")
    .addColumn("error_message", "text")
    .addColumn("owner", text)
    .addColumn("attempts", "integer", (c) => c.notNull())
    .addColumn("created_at", bigint, (c) => c.notNull())
    .addColumn("updated_at", bigint, (c) => c.notNull())
    .addColumn("paused", "integer", (c) => c.notNull().defaultTo(0))
    .addColumn("result", json)
    .addColumn("errors", json)
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
  await db.schema.createIndex("jobs_by_age").on("jobs").columns(["created_at", "id"]).execute();
  await db.schema
    .createIndex("jobs_one_active_per_name")
    .unique()
    .on("jobs")
    .columns(["table_key", "name"])
    .where(sql.ref("state"), "in", sql`('QUEUED', 'RUNNING')`)
    .execute();
  // A version clean-up may run beside another job of its table.
  await db.schema
    .createIndex("jobs_one_running_per_lane")
    .unique()
    .on("jobs")
    .columns(["table_key"])
    .expression(sql`(kind = 'clean_up')`)
    .where(sql.ref("state"), "=", sql.lit("RUNNING"))
    .execute();
}

/** Multipart writes. */
async function createUploads(
  db: Kysely<CatalogSchema>,
  { text, bigint }: ColumnTypes,
): Promise<void> {
  await db.schema
    .createTable("uploads")
    .addColumn("id", text, (c) => c.primaryKey())
    .addColumn("table_key", text, (c) => c.notNull().references("tables.key").onDelete("cascade"))
    .addColumn("branch", text, (c) => c.notNull())
    .addColumn("version", bigint, (c) => c.notNull())
    .addColumn("overwrite", "integer")
    .addColumn("state", text, (c) => c.notNull())
    .addColumn("owner", text)
    .addColumn("result", bigint)
    .addColumn("touched_at", bigint, (c) => c.notNull())
    .addCheckConstraint("uploads_state", sql`state in ('open', 'committing', 'done', 'abandoned')`)
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
    .addColumn("upload_id", text, (c) => c.notNull().references("uploads.id").onDelete("cascade"))
    .addColumn("name", text)
    .addColumn("contents", "text", (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex("upload_parts_by_name")
    .unique()
    .on("upload_parts")
    .columns(["upload_id", "name"])
    .execute();
}

/** Idempotency keys. */
async function createRequests(
  db: Kysely<CatalogSchema>,
  { text, json, bigint }: ColumnTypes,
): Promise<void> {
  await db.schema
    .createTable("requests")
    .addColumn("id", text, (c) => c.primaryKey())
    .addColumn("fingerprint", text, (c) => c.notNull())
    .addColumn("attempt", text, (c) => c.notNull())
    .addColumn("owner", text)
    .addColumn("reply", json)
    .addColumn("created_at", bigint, (c) => c.notNull())
    .execute();
  await db.schema.createIndex("requests_by_age").on("requests").column("created_at").execute();
}

/** API keys, and secrets that the servers of a catalog share. */
async function createKeys(db: Kysely<CatalogSchema>, { text, bigint }: ColumnTypes): Promise<void> {
  await db.schema
    .createTable("api_keys")
    .addColumn("id", text, (c) => c.primaryKey())
    .addColumn("name", text, (c) => c.notNull())
    .addColumn("role", text, (c) => c.notNull())
    .addColumn("hash", text, (c) => c.notNull().unique())
    .addColumn("created_at", bigint, (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("secrets")
    .addColumn("name", text, (c) => c.primaryKey())
    .addColumn("value", sql`text`, (c) => c.notNull())
    .execute();
}

/** Cluster members, their leases, removal acknowledgements, and proposals of version clean-ups with their answers. */
async function createMembers(
  db: Kysely<CatalogSchema>,
  { text, json, bigint }: ColumnTypes,
): Promise<void> {
  await db.schema
    .createTable("servers")
    .addColumn("id", text, (c) => c.primaryKey())
    .addColumn("alive_until", bigint, (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("duties")
    .addColumn("name", text, (c) => c.primaryKey())
    .addColumn("owner", text, (c) => c.notNull())
    .addColumn("done_at", bigint, (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("departures")
    .addColumn("table_key", text, (c) => c.notNull().references("tables.key").onDelete("cascade"))
    .addColumn("server", text, (c) => c.notNull())
    .addPrimaryKeyConstraint("departures_key", ["table_key", "server"])
    .execute();
  await db.schema
    .createTable("clean_ups")
    .addColumn("id", text, (c) => c.primaryKey())
    .addColumn("table_key", text, (c) => c.notNull())
    .addColumn("server", text, (c) => c.notNull().references("servers.id").onDelete("cascade"))
    .addColumn("versions", json, (c) => c.notNull())
    .execute();
  await db.schema
    .createTable("clean_up_answers")
    .addColumn("clean_up", text, (c) => c.notNull().references("clean_ups.id").onDelete("cascade"))
    .addColumn("server", text, (c) => c.notNull())
    .addColumn("kept", json, (c) => c.notNull())
    .addPrimaryKeyConstraint("clean_up_answers_key", ["clean_up", "server"])
    .execute();
}
