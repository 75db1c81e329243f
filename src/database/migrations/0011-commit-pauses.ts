import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** Requests to pause commits to a branch. */
export function commitPauses(kind: "sqlite" | "postgres"): Migration {
  // Byte order, as in 0001-initial.
  const text = kind === "postgres" ? sql`text collate "C"` : sql`text`;

  return {
    async up(db: Kysely<CatalogSchema>) {
      await db.schema
        .createTable("commit_pauses")
        .addColumn("server", text, (c) => c.notNull().references("servers.id").onDelete("cascade"))
        .addColumn("table_key", text, (c) =>
          c.notNull().references("tables.key").onDelete("cascade"),
        )
        .addColumn("branch", text, (c) => c.notNull())
        .addPrimaryKeyConstraint("commit_pauses_key", ["server", "table_key", "branch"])
        .execute();
    },
  };
}
