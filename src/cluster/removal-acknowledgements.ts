/**
 * How the members of the cluster acknowledge the removal of a dropped table before its files are removed.
 *
 * A write that ends after the removal would bring files back. They would look like a table, or damage a new table
 * at the same location. So the files stay until every member has acknowledged the removal:
 *
 * 1. The server that drops a table marks its row as dropped. New requests no longer see the table.
 * 2. Every other member polls for dropped tables (`removalsToAcknowledge`).
 * 3. It stops its writes and jobs on the table, closes it and writes an acknowledgement (`acknowledgeRemoval`).
 * 4. The first server waits until all living members have acknowledged (`awaitRemovalAcknowledgements`).
 * 5. It removes the files and deletes the row, and with it the acknowledgements.
 *
 * When a member does not answer in time, the files stay. The table is then orphaned: a later removal of orphaned
 * tables removes it, once all living members have acknowledged.
 */
import { type RawBuilder, sql } from "kysely";
import type { CatalogDatabase } from "../database/database.js";
import { available } from "../database/sql-error.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { waitUntil } from "../foundation/wait-until.js";
import type { ClusterMembers } from "./members.js";

/** How long a drop waits for the other members, and how often it checks, ms. */
const ACKNOWLEDGEMENT_TIMEOUT = 10_000;
const CHECK_INTERVAL = 50;

/** A table whose name is removed from the catalog and whose files may still exist. */
export interface DroppedTable {
  readonly key: string;
  readonly location: string;
}

/** Returns the tables that other members dropped and this one has not acknowledged. */
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
        e.selectFrom("removal_acknowledgements").select("table_key").where("server", "=", self),
      )
      .execute(),
  );
  // A write that begins from here on must not find the table in a cache.
  if (rows.length > 0) db.reader?.expire();
  return rows;
}

/** Records that this server no longer writes to a dropped table and runs no job on it. */
export async function acknowledgeRemoval(
  db: CatalogDatabase,
  { self }: ClusterMembers,
  key: string,
): Promise<void> {
  await db.write((t) =>
    t
      .insertInto("removal_acknowledgements")
      .columns(["table_key", "server"])
      // The row of the table may be deleted by now.
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

/**
 * Waits until all other members have acknowledged the removal of a table.
 *
 * @throws code 17 when one of them does not in time
 */
export function awaitRemovalAcknowledgements(
  db: CatalogDatabase,
  members: ClusterMembers,
  key: string,
): Promise<void> {
  const isAcknowledged = async () => {
    const pending = await available(
      db.read
        .selectFrom("servers")
        .select("id")
        .where("id", "in", membersWithoutAcknowledgement(members, sql`${key}`))
        .limit(1)
        .executeTakeFirst(),
    );
    return pending === undefined;
  };
  return waitUntil(isAcknowledged, {
    interval: CHECK_INTERVAL,
    timeout: ACKNOWLEDGEMENT_TIMEOUT,
    timeoutError: () =>
      new JoustError(ErrorCode.ServiceUnavailable, "another server still works on the table"),
  });
}

/** SQL: the ids of the other living members that have not acknowledged the removal of a table. */
export function membersWithoutAcknowledgement(
  members: ClusterMembers,
  tableKey: RawBuilder<string>,
): RawBuilder<string> {
  return sql`(
    select id from servers where alive_until >= ${members.now()} and id <> ${members.self}
    and id not in (
      select server from removal_acknowledgements where removal_acknowledgements.table_key = ${tableKey}))`;
}
