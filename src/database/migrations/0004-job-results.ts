import { type Kysely, type Migration, sql } from "kysely";
import type { CatalogSchema } from "../schema.js";

/** The results of jobs and their row errors. */
export const jobResults: Migration = {
  async up(db: Kysely<CatalogSchema>) {
    for (const column of ["result", "errors"]) {
      await db.schema.alterTable("jobs").addColumn(column, sql`text`).execute();
    }
  },
};
