import type { CatalogDatabase, Write } from "../../database/database.js";
import type { TransactionsRow } from "../../database/schema.js";
import { available } from "../../database/sql-error.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";
import { timedId } from "../../foundation/timed-id.js";
import type { JobState } from "../../jobs/jobs.js";
import { applyActions } from "./alter.js";
import type { SignedContents, SignedIds } from "./signed-ids.js";
import type {
  NewTransaction,
  TransactionAction,
  TransactionRecord,
  TransactionStatus,
  Transactions,
} from "./transactions.js";

/** How long records are stored and signed ids are valid, ms. */
const RETENTION_MILLIS = 7 * 24 * 3600 * 1000;
/** Maximum number of rows. */
const MAX_RECORDS = 1_000_000;
/** How many rows are written between two deletions of old rows. */
const PRUNE_INTERVAL = 1_000;

const statusOf: Record<JobState, TransactionStatus> = {
  QUEUED: "Queued",
  RUNNING: "Running",
  DONE: "Succeeded",
  FAILED: "Failed",
  CANCELLED: "Canceled",
};

/**
 * Transactions in the catalog database. A transaction has a row if it belongs to a job, if it was altered, or if its
 * properties are long. The id of every other transaction contains it.
 */
export class TransactionStore implements Transactions {
  #sincePruning = PRUNE_INTERVAL;

  constructor(
    private readonly db: CatalogDatabase,
    /** Absent: every transaction has a row. */
    private readonly signedIds: SignedIds | undefined,
    private readonly maxRecords = MAX_RECORDS,
  ) {}

  record(transaction: NewTransaction): Promise<string> | string {
    const { job, properties } = transaction;
    const signed = job === undefined ? this.signedIds?.sign(properties) : undefined;
    return signed ?? this.#store(transaction);
  }

  async #store({ properties, job }: NewTransaction): Promise<string> {
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
      const signed = this.#verify(id);
      if (!signed) throw transactionNotFound(id);
      return { id, status: "Succeeded", properties: signed.properties };
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
    const signed = this.#verify(id);
    return this.db.write(async (t) => {
      // An alteration needs a row. Concurrent alterations then wait for its lock.
      if (signed) await this.#insert(t, rowOf(id, "Succeeded", signed));
      const record = await this.#lock(t, id);
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

  /** The contents of a signed id that is still valid. */
  #verify(id: string): SignedContents | undefined {
    const signed = this.signedIds?.verify(id);
    return signed && signed.createdMillis >= Date.now() - RETENTION_MILLIS ? signed : undefined;
  }

  async #insert(t: Write, row: TransactionsRow): Promise<void> {
    // Before the insert: the new row may be older than the existing ones.
    if (++this.#sincePruning > PRUNE_INTERVAL) {
      this.#sincePruning = 0;
      await this.#prune(t);
    }
    await t
      .insertInto("transactions")
      .values(row)
      // A repeated request gets the same job; an altered transaction has its row already.
      .onConflict((c) => c.doNothing())
      .execute();
  }

  /** Reads the record and locks it until the end of the SQL transaction. */
  async #lock(t: Write, id: string): Promise<TransactionRecord> {
    const lock = this.db.kind === "postgres";
    const row = await t
      .selectFrom("transactions")
      .select(["status", "properties"])
      .where("id", "=", id)
      .$if(lock, (query) => query.forUpdate())
      .executeTakeFirst();
    if (!row) throw transactionNotFound(id);
    const job = await t
      .selectFrom("jobs")
      .select("state")
      .where("id", "=", id)
      .$if(lock, (query) => query.forUpdate())
      .executeTakeFirst();
    const status = job ? statusOf[job.state] : row.status;
    return { id, status, properties: JSON.parse(row.properties) };
  }

  /** Deletes old rows except those of jobs that still have their row. */
  async #prune(t: Write): Promise<void> {
    const oldest = await t
      .selectFrom("transactions")
      .select("created_at")
      .orderBy("created_at", "desc")
      .offset(this.maxRecords)
      .limit(1)
      .executeTakeFirst();
    const before = Math.max(Date.now() - RETENTION_MILLIS, (oldest?.created_at ?? 0) + 1);
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
  { properties, createdMillis }: SignedContents,
): TransactionsRow => ({
  id,
  status,
  properties: JSON.stringify(properties),
  created_at: createdMillis,
});

export const transactionNotFound = (id: string): JoustError =>
  new JoustError(
    ErrorCode.TransactionNotFound,
    `transaction ${JSON.stringify(id.slice(0, 80))} does not exist`,
  );
