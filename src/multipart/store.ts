import { randomUUID } from "node:crypto";
import type { Selectable } from "kysely";
import type { ClusterMembers } from "../cluster/members.js";
import type { CatalogDatabase, Write } from "../database/database.js";
import type { UploadsRow } from "../database/schema.js";
import { available, violation } from "../database/sql-error.js";
import { tableDropped } from "../database/table-dropped.js";
import { ErrorCode, invalidInput, JoustError } from "../foundation/errors.js";
import { firstIdAt, timedId, timeOf } from "../foundation/timed-id.js";
import type {
  Completion,
  MultipartName,
  MultipartPart,
  MultipartWrite,
  MultipartWrites,
  OrphanedParts,
} from "./multipart.js";

/** An open upload without activity ends after this time, and a committed one is deleted, ms. */
const RETENTION = 24 * 3600 * 1000;
/**
 * An upload accepts parts for this time, ms. The version clean-up removes unreferenced files after seven days, and an
 * upload may stay open for one day after its last part.
 */
const MAX_AGE_FOR_PARTS = 3 * 24 * 3600 * 1000;
/** Open uploads of one table, and of all tables. */
const MAX_OF_TABLE = 64;
const MAX_OF_ALL = 4_096;
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
      if (ofTable >= MAX_OF_TABLE || all >= MAX_OF_ALL) throw tooMany();
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
      if (row.state !== "open") throw ended(name.id);
      if (Date.now() - timeOf(row.id) > MAX_AGE_FOR_PARTS) throw tooOld();
      await t
        .updateTable("uploads")
        .set({ touched_at: Date.now() })
        .where("id", "=", row.id)
        .execute();
      return upload(row);
    });
  }

  async recordPart(id: string, part: MultipartPart): Promise<OrphanedParts | undefined> {
    const overwrite = part.overwrite ? 1 : 0;
    return this.db.write(async (t) => {
      const row = await this.#locked(t, id);
      if (row?.state !== "open") throw ended(id);
      if (row.overwrite !== null && row.overwrite !== overwrite) throw otherMode();
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
      return replaced && this.#orphanedPart(row, replaced.id, replaced.contents);
    });
  }

  async complete(name: MultipartName): Promise<Completion> {
    return this.db.write(async (t) => {
      const row = await this.#find(t, name);
      const { id } = row;
      if (row.state === "done") return { version: row.result as number };
      if (row.state === "abandoned") throw ended(id);
      const retried = row.state === "committing";
      if (retried && row.owner !== this.members.self && (await this.#isOwnerAlive(t, id)))
        throw busy();
      const parts = await t
        .selectFrom("upload_parts")
        .select("contents")
        .where("upload_id", "=", id)
        .where("name", "is not", null)
        .orderBy("name")
        .execute();
      if (parts.length === 0) {
        throw invalidInput("the upload has no parts: send some, or abort it");
      }
      await t
        .updateTable("uploads")
        .set({ state: "committing", owner: this.members.self, touched_at: Date.now() })
        .where("id", "=", id)
        .execute();
      return {
        upload: upload(row),
        overwrite: row.overwrite === 1,
        parts: parts.map(contents),
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
      return row && this.#orphanedUpload(t, row);
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

  async orphanedParts(): Promise<OrphanedParts[]> {
    const before = Date.now() - RETENTION;
    return this.db.write(async (t) => {
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
      for (const row of ended) orphaned.push(await this.#orphanedUpload(t, row));
      for (const row of replaced) orphaned.push(this.#orphanedPart(row, row.part, row.contents));
      return orphaned;
    });
  }

  /** @throws code 13 when there is no such upload of that table and branch */
  async #find(t: Write, { id, table, branch }: MultipartName): Promise<Selectable<UploadsRow>> {
    const row = await this.#locked(t, id);
    if (row?.table_key === table && row.branch === (branch ?? "")) return row;
    throw ended(id);
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

  async #orphanedUpload(t: Write, row: Selectable<UploadsRow>): Promise<OrphanedParts> {
    const parts = await t
      .selectFrom("upload_parts")
      .select("contents")
      .where("upload_id", "=", row.id)
      .execute();
    return {
      upload: upload(row),
      parts: parts.map(contents),
      maybeCommitted: row.state === "committing",
      claim: () => this.#claim(row),
      removed: async () => {
        await this.db.write((t) =>
          t.deleteFrom("uploads").where("id", "=", row.id).where("state", "<>", "done").execute(),
        );
      },
    };
  }

  /** Ends the upload if its row is unchanged. Returns whether it did. */
  async #claim({ id, state, touched_at }: Selectable<UploadsRow>): Promise<boolean> {
    const { numUpdatedRows } = await this.db.write((t) =>
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
  #orphanedPart(row: Selectable<UploadsRow>, part: string, base64: string): OrphanedParts {
    return {
      upload: upload(row),
      parts: [contents({ contents: base64 })],
      maybeCommitted: false,
      claim: async () => true,
      removed: async () => {
        await this.db.write((t) => t.deleteFrom("upload_parts").where("id", "=", part).execute());
      },
    };
  }
}

const contents = (part: { contents: string }): Buffer => Buffer.from(part.contents, "base64");

const upload = (row: Selectable<UploadsRow>): MultipartWrite => ({
  id: row.id,
  table: row.table_key,
  branch: row.branch === "" ? undefined : row.branch,
  version: row.version,
});

const ended = (id: string): JoustError =>
  invalidInput(
    `the table has no upload ${JSON.stringify(id.slice(0, 80))} that is in progress: begin a new one`,
  );

const tooOld = (): JoustError =>
  invalidInput(
    "the upload began more than three days ago and takes no more parts: complete it, or begin a new one",
  );

const otherMode = (): JoustError =>
  invalidInput("the parts of an upload must all append or all overwrite");

const tooMany = (): JoustError =>
  new JoustError(
    ErrorCode.Throttling,
    `too many uploads are in progress (at most ${MAX_OF_TABLE} of one table, ${MAX_OF_ALL} in all): complete or abort some`,
  );

const busy = (): JoustError =>
  new JoustError(
    ErrorCode.ServiceUnavailable,
    "another server is committing this upload: try again",
  );
