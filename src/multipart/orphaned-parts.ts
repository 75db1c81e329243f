/** The parts of multipart writes whose files no commit will reference. */
import type { Selectable } from "kysely";
import type { CatalogDatabase, Write } from "../database/database.js";
import type { UploadsRow } from "../database/schema.js";
import type { MultipartWrite, OrphanedParts } from "./multipart.js";

/** Ends the uploads without activity since `before`, ms since the epoch. Returns all parts to remove. */
export async function endIdleUploads(
  db: CatalogDatabase,
  before: number,
): Promise<OrphanedParts[]> {
  return db.write(async (t) => {
    await t
      .updateTable("uploads")
      .set({ state: "abandoned", owner: null })
      .where("touched_at", "<", before)
      .where("state", "=", "open")
      .execute();
    await t
      .deleteFrom("uploads")
      .where("state", "=", "done")
      .where("touched_at", "<", before)
      .where("id", "not in", (e) => e.selectFrom("upload_parts").select("upload_id"))
      .execute();
    const ended = await t
      .selectFrom("uploads")
      .selectAll()
      // A commit takes half an hour at most: one that began a day ago has failed.
      .where((e) =>
        e.or([
          e("state", "=", "abandoned"),
          e.and([e("state", "=", "committing"), e("touched_at", "<", before)]),
        ]),
      )
      .execute();
    const replaced = await t
      .selectFrom("upload_parts")
      .innerJoin("uploads", "uploads.id", "upload_parts.upload_id")
      .selectAll("uploads")
      .select(["upload_parts.id as part", "upload_parts.contents"])
      .where("upload_parts.name", "is", null)
      .where("uploads.state", "<>", "abandoned")
      .execute();
    const orphaned: OrphanedParts[] = [];
    for (const row of ended) orphaned.push(await orphanedUpload(db, t, row));
    for (const row of replaced) orphaned.push(orphanedPart(db, row, row.part, row.contents));
    return orphaned;
  });
}

/** Returns all parts of an abandoned upload, or of one whose commit may have failed. */
export async function orphanedUpload(
  db: CatalogDatabase,
  t: Write,
  row: Selectable<UploadsRow>,
): Promise<OrphanedParts> {
  const parts = await t
    .selectFrom("upload_parts")
    .select("contents")
    .where("upload_id", "=", row.id)
    .execute();
  return {
    upload: multipartWrite(row),
    parts: parts.map(decodePart),
    maybeCommitted: row.state === "committing",
    claim: () => claim(db, row),
    removed: async () => {
      await db.write((t) =>
        t.deleteFrom("uploads").where("id", "=", row.id).where("state", "<>", "done").execute(),
      );
    },
  };
}

/** Ends the upload if its row is unchanged. Returns whether it did. */
async function claim(
  db: CatalogDatabase,
  { id, state, touched_at }: Selectable<UploadsRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await db.write((t) =>
    t
      .updateTable("uploads")
      .set({ state: "abandoned", owner: null })
      .where("id", "=", id)
      .where("state", "=", state)
      .where("touched_at", "=", touched_at)
      .executeTakeFirst(),
  );
  return numUpdatedRows > 0n;
}

/** A part that another one has replaced. */
export function orphanedPart(
  db: CatalogDatabase,
  row: Selectable<UploadsRow>,
  part: string,
  base64: string,
): OrphanedParts {
  return {
    upload: multipartWrite(row),
    parts: [decodePart({ contents: base64 })],
    maybeCommitted: false,
    claim: async () => true,
    removed: async () => {
      await db.write((t) => t.deleteFrom("upload_parts").where("id", "=", part).execute());
    },
  };
}

/** The description of a part that the engine returned. */
export const decodePart = (part: { contents: string }): Buffer =>
  Buffer.from(part.contents, "base64");

export const multipartWrite = (row: Selectable<UploadsRow>): MultipartWrite => ({
  id: row.id,
  table: row.table_key,
  branch: row.branch === "" ? undefined : row.branch,
  version: row.version,
});
