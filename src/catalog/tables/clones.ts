/**
 * Shallow clones: tables that read files of their source.
 *
 * A row is written with the reservation of the clone, before the source gets the tag that keeps the files, and deleted
 * with the row of the clone, after the tag is removed. So the catalog knows each tag that a crash leaves, and the removal
 * of orphaned tables removes it. Rows name tables by location, because a deregistered table keeps its files and may be
 * registered again.
 *
 * The files of a dropped table stay while a row has it as the source: it is orphaned until then. No clone of it can be
 * reserved once it is dropped, because the reservation locks the row of the source and needs a live one.
 */
import { type RawBuilder, sql } from "kysely";
import type { CatalogDatabase, Write } from "../../database/database.js";
import { available } from "../../database/sql-error.js";
import type { CloneSource, TableRecord } from "../catalog.js";
import { tableNotFound } from "../failures.js";

/** The tag that keeps the files which a clone reads; the engine refuses other tags with this prefix. */
export const cloneTag = (key: string): string => `joust-clone-${key}`;

/** Records a clone whose row was just inserted. @throws code 4 when the source is not live any more */
export async function insertClone(
  db: CatalogDatabase,
  t: Write,
  clone: { key: string; location: string },
  { key, id, location }: TableRecord,
): Promise<void> {
  // After the row of the clone: a drop of the namespace locks in the same order.
  const live = await t
    .selectFrom("tables")
    .select("key")
    .where("key", "=", key)
    .where("state", "=", "live")
    .$if(db.kind === "postgres", (query) => query.forUpdate())
    .executeTakeFirst();
  if (!live) throw tableNotFound(id);
  await t
    .insertInto("clones")
    .values({ location: clone.location, source: location, tag: cloneTag(clone.key) })
    .execute();
}

/** Deletes the record of a clone whose files are removed. */
export async function deleteClone(t: Write, location: string): Promise<void> {
  await t.deleteFrom("clones").where("location", "=", location).execute();
}

/** See `Catalog.cloneSource`. */
export function cloneSource(
  db: CatalogDatabase,
  location: string,
): Promise<CloneSource | undefined> {
  return available(
    db.read
      .selectFrom("clones")
      .select(["source as location", "tag"])
      .where("location", "=", location)
      .executeTakeFirst(),
  );
}

/** See `Catalog.hasClones`. */
export async function hasClones(
  db: CatalogDatabase,
  source: string,
  tag?: string,
): Promise<boolean> {
  const row = await available(
    db.read
      .selectFrom("clones")
      .select("location")
      .where("source", "=", source)
      .$if(tag !== undefined, (query) => query.where("tag", "=", tag as string))
      .limit(1)
      .executeTakeFirst(),
  );
  return row !== undefined;
}

/** SQL: whether a clone reads files of the table in the row of `tables`. */
export const isSource = (): RawBuilder<boolean> =>
  sql<boolean>`exists (select 1 from clones where clones.source = tables.location)`;
