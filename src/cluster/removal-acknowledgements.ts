/**
 * How servers leave a table that one of them dropped.
 *
 * A write that ended after the files were removed would bring some back, and with them a table that
 * nobody wants, or spoil one that was made in their place. So each server that sees the drop ends its
 * own work on the table and says so; the files go when all that live have.
 */
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import { available } from "../database/sql-error.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { ClusterMembers } from "./members.js";

/** A table whose name is removed from the catalog and whose files may still exist. */
export interface DroppedTable {
  readonly key: string;
  readonly location: string;
}

/** How long a drop waits for other servers, ms, and how often it looks. */
const PATIENCE = 10_000;
const LOOK_EVERY = 50;

/** Tables that others dropped and that this server has not left yet. */
export async function removalsToAcknowledge(
  db: CatalogDatabase,
  { self }: ClusterMembers,
): Promise<DroppedTable[]> {
  const rows = await available(
    db.read
      .selectFrom("tables")
      .select(["key", "location"])
      .where("state", "=", "dropped")
      .where("owner", "<>", self)
      .where("key", "not in", (e) =>
        e.selectFrom("departures").select("table_key").where("server", "=", self),
      )
      .execute(),
  );
  // Writes that begin from here on must not be told that it lives.
  if (rows.length > 0) db.reader?.expire();
  return rows;
}

/** This server works on a dropped table no more. */
export async function acknowledgeRemoval(
  db: CatalogDatabase,
  { self }: ClusterMembers,
  key: string,
): Promise<void> {
  await db.write((t) =>
    t
      .insertInto("departures")
      .columns(["table_key", "server"])
      // It may be forgotten by now.
      .expression((e) =>
        e
          .selectFrom("tables")
          .select(["key", sql<string>`${self}`.as("server")])
          .where("key", "=", key),
      )
      .onConflict((c) => c.doNothing())
      .execute(),
  );
}

/** Waits until all other servers have left a table. @throws code 17 when one takes too long */
export async function awaitRemovalAcknowledgements(
  db: CatalogDatabase,
  servers: ClusterMembers,
  key: string,
): Promise<void> {
  for (let waited = 0; waited < PATIENCE; waited += LOOK_EVERY) {
    const at = await available(
      db.read
        .selectFrom("servers")
        .select("id")
        .where("id", "in", servers.atWorkOn(sql`${key}`))
        .limit(1)
        .executeTakeFirst(),
    );
    if (!at) return;
    await delay(LOOK_EVERY);
  }
  throw new JoustError(
    ErrorCode.ServiceUnavailable,
    "another server is still at work on the table",
  );
}
