import { randomUUID } from "node:crypto";
import type { Selectable } from "kysely";
import type { ClusterMembers } from "../cluster/members.js";
import type { CatalogDatabase, Write } from "../database/database.js";
import type { UploadsRow } from "../database/schema.js";
import { available, violation } from "../database/sql-error.js";
import { tableDropped } from "../database/table-dropped.js";
import { invalidInput } from "../foundation/errors.js";
import { firstIdAt, timedId, timeOf } from "../foundation/timed-id.js";
import {
  commitInProgress,
  MAX_OF_ALL,
  MAX_OF_TABLE,
  mixedModes,
  noParts,
  tooManyUploads,
  uploadEnded,
  uploadTooOld,
} from "./failures.js";
import type {
  Completion,
  MultipartName,
  MultipartPart,
  MultipartWrite,
  MultipartWrites,
  OrphanedParts,
} from "./multipart.js";
import {
  decodePart,
  endIdleUploads,
  multipartWrite,
  orphanedPart,
  orphanedUpload,
} from "./orphaned-parts.js";

/** An open upload without activity ends after this time, and a committed one is deleted, ms. */
const RETENTION = 24 * 3600 * 1000;
/**
 * An upload accepts parts for this time, ms. The version clean-up removes unreferenced files after seven days, and an
 * upload may stay open for one day after its last part.
 */
const MAX_AGE_FOR_PARTS = 3 * 24 * 3600 * 1000;
const MAX_PARTS = 10_000;

/** Multipart writes in the database of the catalog. */
export class MultipartStore implements MultipartWrites {
  constructor(
    private readonly db: CatalogDatabase,
    private readonly members: ClusterMembers,
  ) {}

  async begin({ table, branch, version }: Omit<MultipartWrite, "id">): Promise<string> {
    const id = timedId();
    await this.db.write(async (t) => {
      const active = t.selectFrom("uploads").where("state", "in", ["open", "committing"]);
      const { all, ofTable } = await active
        .select((e) => [
          e.fn.countAll<number>().as("all"),
          e.fn.countAll<number>().filterWhere("table_key", "=", table).as("ofTable"),
        ])
        .executeTakeFirstOrThrow();
      if (ofTable >= MAX_OF_TABLE || all >= MAX_OF_ALL) throw tooManyUploads();
      await t
        .insertInto("uploads")
        .values({
          id,
          table_key: table,
          branch: branch ?? "",
          version,
          state: "open",
          touched_at: Date.now(),
        })
        .execute()
        .catch((error) => {
          throw violation(error) === "foreign-key" ? tableDropped() : error;
        });
    });
    return id;
  }

  async open(name: MultipartName): Promise<MultipartWrite> {
    return this.db.write(async (t) => {
      const row = await this.#find(t, name);
      if (row.state !== "open") throw uploadEnded(name.id);
      if (Date.now() - timeOf(row.id) > MAX_AGE_FOR_PARTS) throw uploadTooOld();
      await t
        .updateTable("uploads")
        .set({ touched_at: Date.now() })
        .where("id", "=", row.id)
        .execute();
      return multipartWrite(row);
    });
  }

  async recordPart(id: string, part: MultipartPart): Promise<OrphanedParts | undefined> {
    const overwrite = part.overwrite ? 1 : 0;
    return this.db.write(async (t) => {
      const row = await this.#locked(t, id);
      if (row?.state !== "open") throw uploadEnded(id);
      if (row.overwrite !== null && row.overwrite !== overwrite) throw mixedModes();
      const replaced = await t
        .updateTable("upload_parts")
        .set({ name: null })
        .where("upload_id", "=", id)
        .where("name", "=", part.name)
        .returning(["id", "contents"])
        .executeTakeFirst();
      const { parts } = await t
        .selectFrom("upload_parts")
        .select((e) => e.fn.countAll<number>().as("parts"))
        .where("upload_id", "=", id)
        .executeTakeFirstOrThrow();
      if (parts >= MAX_PARTS) {
        throw invalidInput(`the upload has ${MAX_PARTS} parts already: send larger ones`);
      }
      await t
        .insertInto("upload_parts")
        .values({
          id: randomUUID(),
          upload_id: id,
          name: part.name,
          contents: part.contents.toString("base64"),
        })
        .execute();
      await t
        .updateTable("uploads")
        .set({ overwrite, touched_at: Date.now() })
        .where("id", "=", id)
        .execute();
      return replaced && orphanedPart(this.db, row, replaced.id, replaced.contents);
    });
  }

  async replacesRows(name: MultipartName): Promise<boolean> {
    const { state, overwrite } = await this.db.write((t) => this.#find(t, name));
    if (state === "abandoned") throw uploadEnded(name.id);
    if (overwrite === null) throw noParts();
    return overwrite === 1;
  }

  async complete(name: MultipartName): Promise<Completion> {
    return this.db.write(async (t) => {
      const row = await this.#find(t, name);
      const { id } = row;
      if (row.state === "done") return { version: row.result as number };
      if (row.state === "abandoned") throw uploadEnded(id);
      const retried = row.state === "committing";
      if (retried && row.owner !== this.members.self && (await this.#isOwnerAlive(t, id)))
        throw commitInProgress();
      const parts = await t
        .selectFrom("upload_parts")
        .select("contents")
        .where("upload_id", "=", id)
        .where("name", "is not", null)
        .orderBy("name")
        .execute();
      if (parts.length === 0) throw noParts();
      await t
        .updateTable("uploads")
        .set({ state: "committing", owner: this.members.self, touched_at: Date.now() })
        .where("id", "=", id)
        .execute();
      return {
        upload: multipartWrite(row),
        overwrite: row.overwrite === 1,
        parts: parts.map(decodePart),
        retried,
      };
    });
  }

  async committed(id: string, version: number): Promise<void> {
    await this.db.write(async (t) => {
      await t
        .updateTable("uploads")
        .set({ state: "done", owner: null, result: version, touched_at: Date.now() })
        .where("id", "=", id)
        .execute();
      // Parts without a name were replaced: their rows stay until their files are removed.
      await t
        .deleteFrom("upload_parts")
        .where("upload_id", "=", id)
        .where("name", "is not", null)
        .execute();
    });
  }

  async abandon(
    { id, table, branch }: MultipartName,
    state: "open" | "committing",
  ): Promise<OrphanedParts | undefined> {
    return this.db.write(async (t) => {
      const row = await t
        .updateTable("uploads")
        .set({ state: "abandoned", owner: null })
        .where("id", "=", id)
        .where("table_key", "=", table)
        .where("branch", "=", branch ?? "")
        .where("state", "=", state)
        .returningAll()
        .executeTakeFirst();
      return row && orphanedUpload(this.db, t, row);
    });
  }

  async endBranch(table: string, branch: string, before: number): Promise<void> {
    await this.db.write((t) =>
      t
        .deleteFrom("uploads")
        .where("table_key", "=", table)
        .where("branch", "=", branch)
        .where("id", "<", firstIdAt(before))
        .execute(),
    );
  }

  async oldestVersion(table: string): Promise<number | undefined> {
    const { version } = await available(
      this.db.read
        .selectFrom("uploads")
        .select((e) => e.fn.min("version").as("version"))
        .where("table_key", "=", table)
        .where("branch", "=", "")
        .where("state", "in", ["open", "committing"])
        .executeTakeFirstOrThrow(),
    );
    return version ?? undefined;
  }

  orphanedParts(): Promise<OrphanedParts[]> {
    return endIdleUploads(this.db, Date.now() - RETENTION);
  }

  /** @throws code 13 when there is no such upload of that table and branch */
  async #find(t: Write, { id, table, branch }: MultipartName): Promise<Selectable<UploadsRow>> {
    const row = await this.#locked(t, id);
    if (row?.table_key === table && row.branch === (branch ?? "")) return row;
    throw uploadEnded(id);
  }

  /** Locks the row until the end of the SQL transaction. */
  #locked(t: Write, id: string): Promise<Selectable<UploadsRow> | undefined> {
    return t
      .selectFrom("uploads")
      .selectAll()
      .where("id", "=", id)
      .$if(this.db.kind === "postgres", (query) => query.forUpdate())
      .executeTakeFirst();
  }

  async #isOwnerAlive(t: Write, id: string): Promise<boolean> {
    const row = await t
      .selectFrom("uploads")
      .select("id")
      .where("id", "=", id)
      .where("owner", "in", this.members.alive())
      .executeTakeFirst();
    return row !== undefined;
  }
}
