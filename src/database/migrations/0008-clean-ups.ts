import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Proposals of version clean-ups and their answers. A version clean-up may run beside another job of its table. */
export function cleanUpTables(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;
  const json = sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("clean_ups")
        .addColumn("id", text, (c) => c.primaryKey())
        .addColumn("table_key", text, (c) => c.notNull())
        .addColumn("server", text, (c) => c.notNull().references("servers.id").onDelete("cascade"))
        .addColumn("versions", json, (c) => c.notNull())
        .execute();
      await db.schema
        .createTable("clean_up_answers")
        .addColumn("clean_up", text, (c) =>
          c.notNull().references("clean_ups.id").onDelete("cascade"),
        )
        .addColumn("server", text, (c) => c.notNull())
        .addColumn("kept", json, (c) => c.notNull())
        .addPrimaryKeyConstraint("clean_up_answers_key", ["clean_up", "server"])
        .execute();
      await db.schema.dropIndex("jobs_one_running_per_table").execute();
      await db.schema
        .createIndex("jobs_one_running_per_lane")
        .unique()
        .on("jobs")
        .columns(["table_key"])
        .expression(sql`(kind = 'clean_up')`)
        .where(sql.ref("state"), "=", sql.lit("RUNNING"))
        .execute();
    },
  };
}
