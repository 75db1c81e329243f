import type { CatalogDatabase, Write } from "../catalog/database.js";
import type { TransactionsRow } from "../catalog/schema.js";
import { available } from "../catalog/sql-error.js";
import { timedId } from "../catalog/timed-id.js";
import { ErrorCode, JoustError } from "../errors.js";
import type { JobState } from "../jobs/jobs.js";
import { applyActions } from "./alter.js";
import type {
  TransactionAction,
  TransactionRecord,
  TransactionStatus,
  Transactions,
  Work,
} from "./transactions.js";

/** Records are forgotten after this time, ms. */
const KEPT = 7 * 24 * 3600 * 1000;
/** Records that are kept at most. */
const MAX_RECORDS = 1_000_000;
/** Records written between two looks for old ones. */
const PRUNE_EVERY = 1_000;
/** Records of one statement: a database takes some thousands of parameters. */
const MAX_GATHERED = 500;

const statusOf: Record<JobState, TransactionStatus> = {
  QUEUED: "Queued",
  RUNNING: "Running",
  DONE: "Succeeded",
  FAILED: "Failed",
  CANCELLED: "Canceled",
};

/** Records that one statement will write. */
interface Gathering {
  readonly rows: TransactionsRow[];
  /** The ids of those that more clients may share, by their commit. */
  readonly shared: Map<string, string>;
  readonly written: Promise<void>;
}

/** Transactions in the catalog's database. */
export class TransactionStore implements Transactions {
  #sincePruning = PRUNE_EVERY;
  #gathering: Gathering | undefined;

  constructor(
    private readonly db: CatalogDatabase,
    private readonly maxRecords = MAX_RECORDS,
  ) {}

  async record({ properties, job, commit }: Work): Promise<string> {
    const told = commit === undefined ? undefined : this.#gathering?.shared.get(commit);
    if (told !== undefined) {
      await this.#gathering?.written;
      return told;
    }
    const id = job ?? timedId();
    const row: TransactionsRow = {
      id,
      status: job === undefined ? "Succeeded" : "Queued",
      properties: JSON.stringify(properties),
      created_at: Date.now(),
    };
    if (job === undefined) await this.#gather(row, commit);
    else await this.db.write((t) => this.#insert(t, [row]));
    return id;
  }

  /** Records that come in together are written by one statement: a busy table makes thousands. */
  #gather(row: TransactionsRow, commit?: string): Promise<void> {
    let gathering = this.#gathering;
    if (gathering && gathering.rows.length < MAX_GATHERED) gathering.rows.push(row);
    else gathering = this.#begin(row);
    if (commit !== undefined) gathering.shared.set(commit, row.id);
    return gathering.written;
  }

  #begin(row: TransactionsRow): Gathering {
    const rows = [row];
    // It may fail before it begins: later records do not share its fate.
    const over = () => {
      if (this.#gathering?.rows === rows) this.#gathering = undefined;
    };
    // The change itself is durable.
    const written = this.db.note(async (t) => {
      // Later records go into a statement of their own.
      over();
      await this.#insert(t, rows);
    });
    written.catch(over);
    this.#gathering = { rows, shared: new Map(), written };
    return this.#gathering;
  }

  async #insert(t: Write, rows: readonly TransactionsRow[]): Promise<void> {
    await t
      .insertInto("transactions")
      .values(rows)
      // A client that sends a request again is given the same job.
      .onConflict((c) => c.doNothing())
      .execute();
    this.#sincePruning += rows.length;
    if (this.#sincePruning <= PRUNE_EVERY) return;
    this.#sincePruning = 0;
    await this.#prune(t);
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
    if (!row) throw unknown(id);
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
    return this.db.write(async (t) => {
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

const unknown = (id: string): JoustError =>
  new JoustError(
    ErrorCode.TransactionNotFound,
    `there is no transaction ${JSON.stringify(id.slice(0, 80))}`,
  );
