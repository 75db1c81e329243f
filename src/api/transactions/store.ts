import type { CatalogDatabase, Write } from "../../database/database.js";
import type { TransactionsRow } from "../../database/schema.js";
import { available } from "../../database/sql-error.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";
import { timedId } from "../../foundation/timed-id.js";
import type { JobState } from "../../jobs/jobs.js";
import { applyActions } from "./alter.js";
import type { Sealed, SignedIds } from "./signed-ids.js";
import type {
  TransactionAction,
  TransactionRecord,
  TransactionStatus,
  Transactions,
  Work,
} from "./transactions.js";

/** Records are forgotten after this time, ms, and ids that say what was done are good for it. */
const KEPT = 7 * 24 * 3600 * 1000;
/** Rows that are kept at most. */
const MAX_RECORDS = 1_000_000;
/** Rows written between two looks for old ones. */
const PRUNE_EVERY = 1_000;

const statusOf: Record<JobState, TransactionStatus> = {
  QUEUED: "Queued",
  RUNNING: "Running",
  DONE: "Succeeded",
  FAILED: "Failed",
  CANCELLED: "Canceled",
};

/**
 * Transactions in the catalog's database, as far as they have to be: a job's has a row, and one that was
 * altered or whose properties are long. Of every other its id says what was done.
 */
export class TransactionStore implements Transactions {
  #sincePruning = PRUNE_EVERY;

  constructor(
    private readonly db: CatalogDatabase,
    /** `undefined`: every record has a row. */
    private readonly sealedIds: SignedIds | undefined,
    private readonly maxRecords = MAX_RECORDS,
  ) {}

  record(work: Work): Promise<string> | string {
    const sealed = work.job === undefined ? this.sealedIds?.seal(work.properties) : undefined;
    return sealed ?? this.#store(work);
  }

  async #store({ properties, job }: Work): Promise<string> {
    const id = job ?? timedId();
    const status = job === undefined ? "Succeeded" : "Queued";
    const row = rowOf(id, status, { properties, createdMillis: Date.now() });
    await this.db.write((t) => this.#insert(t, row));
    return id;
  }

  async describe(id: string): Promise<TransactionRecord> {
    const row = await available(
      this.db.read
        .selectFrom("transactions")
        .leftJoin("jobs", "jobs.id", "transactions.id")
        .select(["transactions.status", "transactions.properties"])
        .select(["jobs.state", "jobs.error_message"])
        .where("transactions.id", "=", id)
        .executeTakeFirst(),
    );
    if (!row) {
      const sealed = this.#sealed(id);
      if (!sealed) throw unknown(id);
      return { id, status: "Succeeded", properties: sealed.properties };
    }
    return {
      id,
      status: row.state ? statusOf[row.state] : row.status,
      properties: {
        ...(row.error_message !== null && { error: row.error_message }),
        ...JSON.parse(row.properties),
      },
    };
  }

  async alter(id: string, actions: readonly TransactionAction[]): Promise<TransactionRecord> {
    const sealed = this.#sealed(id);
    return this.db.write(async (t) => {
      // What is set on it needs a row; of several who make it each then waits for the one before.
      if (sealed) await this.#insert(t, rowOf(id, "Succeeded", sealed));
      const record = await this.#locked(t, id);
      const altered = applyActions(record, actions);
      if (altered.status !== record.status) {
        await t
          .updateTable("jobs")
          .set({ state: "CANCELLED", owner: null, updated_at: Date.now() })
          .where("id", "=", id)
          .execute();
      }
      await t
        .updateTable("transactions")
        .set({ status: altered.status, properties: JSON.stringify(altered.properties) })
        .where("id", "=", id)
        .execute();
      return altered;
    });
  }

  /** What the id itself says, as long as it is good. */
  #sealed(id: string): Sealed | undefined {
    const sealed = this.sealedIds?.open(id);
    return sealed && sealed.createdMillis >= Date.now() - KEPT ? sealed : undefined;
  }

  async #insert(t: Write, row: TransactionsRow): Promise<void> {
    // First: it may be older than those that are there.
    if (++this.#sincePruning > PRUNE_EVERY) {
      this.#sincePruning = 0;
      await this.#prune(t);
    }
    await t
      .insertInto("transactions")
      .values(row)
      // A client that sends a request again is given the same job; an altered transaction has its row.
      .onConflict((c) => c.doNothing())
      .execute();
  }

  /** The record as it stays until the end of this SQL transaction. */
  async #locked(t: Write, id: string): Promise<TransactionRecord> {
    const lock = this.db.kind === "postgres";
    const row = await t
      .selectFrom("transactions")
      .select(["status", "properties"])
      .where("id", "=", id)
      .$if(lock, (query) => query.forUpdate())
      .executeTakeFirst();
    if (!row) throw unknown(id);
    const job = await t
      .selectFrom("jobs")
      .select("state")
      .where("id", "=", id)
      .$if(lock, (query) => query.forUpdate())
      .executeTakeFirst();
    const status = job ? statusOf[job.state] : row.status;
    return { id, status, properties: JSON.parse(row.properties) };
  }

  /** Forgets old records, but not those of jobs that are still there. */
  async #prune(t: Write): Promise<void> {
    const oldest = await t
      .selectFrom("transactions")
      .select("created_at")
      .orderBy("created_at", "desc")
      .offset(this.maxRecords)
      .limit(1)
      .executeTakeFirst();
    const before = Math.max(Date.now() - KEPT, (oldest?.created_at ?? 0) + 1);
    await t
      .deleteFrom("transactions")
      .where("created_at", "<", before)
      .where("id", "not in", (e) => e.selectFrom("jobs").select("id"))
      .execute();
  }
}

const rowOf = (
  id: string,
  status: TransactionStatus,
  { properties, createdMillis }: Sealed,
): TransactionsRow => ({
  id,
  status,
  properties: JSON.stringify(properties),
  created_at: createdMillis,
});

const unknown = (id: string): JoustError =>
  new JoustError(
    ErrorCode.TransactionNotFound,
    `there is no transaction ${JSON.stringify(id.slice(0, 80))}`,
  );
