import type { Selectable } from "kysely";
import type { ClusterMembers } from "../../cluster/members.js";
import type { CatalogDatabase, Write } from "../../database/database.js";
import type { RequestsRow } from "../../database/schema.js";
import { available } from "../../database/sql-error.js";
import type { Attempt, IdempotentRequests, StoredReply, StoredRequest } from "./idempotency.js";

/** How long replies are stored, ms. */
export const RETENTION_MILLIS = 24 * 3600 * 1000;
/** How many requests start between two deletions of old rows. */
const PRUNE_INTERVAL = 1_000;

/** Idempotent requests in the catalog database. */
export class IdempotencyStore implements IdempotentRequests {
  #sincePruning = PRUNE_INTERVAL;
  /** The attempts that this process runs. A row of this process that is not among them has an unknown outcome. */
  readonly #running = new Set<string>();

  constructor(
    private readonly db: CatalogDatabase,
    private readonly servers: ClusterMembers,
  ) {}

  async find(id: string, retentionMillis: number): Promise<StoredRequest | undefined> {
    const row = await available(
      this.db.read
        .selectFrom("requests")
        .selectAll()
        .select((e) => e(e.ref("owner"), "in", this.servers.alive()).as("owned"))
        .where("id", "=", id)
        .where("created_at", ">=", Date.now() - retentionMillis)
        .executeTakeFirst(),
    );
    return row && storedRequest(row, this.#isRunning(row, Boolean(row.owned)));
  }

  #isRunning({ owner, attempt }: Selectable<RequestsRow>, owned: boolean): boolean {
    return owner === this.servers.self ? this.#running.has(attempt) : owned;
  }

  async begin(
    { id, fingerprint, attempt }: Pick<StoredRequest, "id" | "fingerprint" | "attempt">,
    retentionMillis: number,
  ): Promise<boolean> {
    const now = Date.now();
    // Before the insert: otherwise the row would have an unknown outcome for a moment.
    this.#running.add(attempt);
    try {
      const begun = await this.db.write(async (t) => {
        await this.#prune(t, now);
        await t
          .deleteFrom("requests")
          .where("id", "=", id)
          .where("created_at", "<", now - retentionMillis)
          .execute();
        return t
          .insertInto("requests")
          .values({
            id,
            fingerprint,
            attempt,
            owner: this.servers.self,
            reply: null,
            created_at: now,
          })
          .onConflict((c) => c.doNothing())
          .returning("id")
          .executeTakeFirst();
      });
      if (!begun) this.#running.delete(attempt);
      return begun !== undefined;
    } catch (error) {
      this.#running.delete(attempt);
      throw error;
    }
  }

  async takeOver({ id, attempt }: StoredRequest): Promise<boolean> {
    if (this.#running.has(attempt)) return false;
    this.#running.add(attempt);
    try {
      const taken = await this.db.write((t) =>
        t
          .updateTable("requests")
          .set({ owner: this.servers.self })
          .where("id", "=", id)
          .where("attempt", "=", attempt)
          .where("reply", "is", null)
          .where((e) =>
            e.or([
              e("owner", "is", null),
              // This process does not run it, or its server stopped.
              e("owner", "=", this.servers.self),
              e("owner", "not in", this.servers.alive()),
            ]),
          )
          .returning("id")
          .executeTakeFirst(),
      );
      if (!taken) this.#running.delete(attempt);
      return taken !== undefined;
    } catch (error) {
      this.#running.delete(attempt);
      throw error;
    }
  }

  complete(attempt: Attempt, id: string, reply: StoredReply): Promise<void> {
    return this.#end(attempt, (t) =>
      t
        .updateTable("requests")
        .set({ owner: null, reply: JSON.stringify(reply) })
        .where("id", "=", id)
        .where("attempt", "=", attempt.id)
        .execute(),
    );
  }

  forget(attempt: Attempt, id: string): Promise<void> {
    return this.#end(attempt, (t) =>
      t
        .deleteFrom("requests")
        .where("id", "=", id)
        .where("attempt", "=", attempt.id)
        .where("reply", "is", null)
        .execute(),
    );
  }

  markUnknown(attempt: Attempt, id: string): Promise<void> {
    return this.#end(attempt, (t) =>
      t
        .updateTable("requests")
        .set({ owner: null })
        .where("id", "=", id)
        .where("attempt", "=", attempt.id)
        .execute(),
    );
  }

  async #end({ id }: Attempt, change: (t: Write) => Promise<unknown>): Promise<void> {
    try {
      await this.db.write(change);
    } finally {
      // Also after a failure: this process no longer runs the attempt.
      this.#running.delete(id);
    }
  }

  async #prune(t: Write, now: number): Promise<void> {
    if (++this.#sincePruning <= PRUNE_INTERVAL) return;
    this.#sincePruning = 0;
    await t
      .deleteFrom("requests")
      .where("created_at", "<", now - RETENTION_MILLIS)
      .execute();
  }
}

const storedRequest = (row: Selectable<RequestsRow>, running: boolean): StoredRequest => ({
  id: row.id,
  fingerprint: row.fingerprint,
  attempt: row.attempt,
  startedMillis: row.created_at,
  ...(row.reply === null
    ? { state: running ? "running" : "unknown" }
    : { state: "done", reply: JSON.parse(row.reply) }),
});
