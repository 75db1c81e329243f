import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** When API keys expire, when they were used last, and the keys that a rotation replaced. */
export function keyLifetimes(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001-initial.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;
  const millis = sql`bigint`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      for (const column of ["issued_at", "expires_at", "last_used_at"]) {
        await db.schema.alterTable("api_keys").addColumn(column, millis).execute();
      }
      await db.schema
        .createTable("former_api_keys")
        .addColumn("hash", text, (c) => c.primaryKey())
        .addColumn("key_id", text, (c) => c.notNull().references("api_keys.id").onDelete("cascade"))
        .addColumn("expires_at", millis, (c) => c.notNull())
        .execute();
      await db.schema
        .createIndex("former_api_keys_by_key")
        .on("former_api_keys")
        .column("key_id")
        .execute();
    },
  };
}
