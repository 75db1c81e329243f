import { randomInt } from "node:crypto";
import { sql } from "kysely";
import type { CatalogDatabase } from "./database.js";

/** Numbers of advisory locks. Two equal ones delay a transaction, and do no harm. */
const LOCKS = 2 ** 47;

/**
 * The database for a transaction and for another one that undoes it. On Postgres they share an advisory lock: if the
 * reply to the COMMIT was lost, Postgres may still run it, and the other transaction waits for its end.
 */
export function withCommitLock(db: CatalogDatabase): CatalogDatabase {
  if (db.kind === "sqlite") return db;
  const lock = sql`select pg_advisory_xact_lock(${randomInt(LOCKS)}::bigint)`;
  return {
    ...db,
    write: (work) =>
      db.write(async (t) => {
        await lock.execute(t);
        return work(t);
      }),
  };
}
