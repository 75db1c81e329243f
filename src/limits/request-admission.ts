import { decodePath } from "../catalog/path.js";
import { LimitExceeded } from "./limit-exceeded.js";
import type { LimitMemory } from "./limit-memory.js";
import type { JobSubject, LimitOwner, StorageLimit, Usage } from "./limit-owner.js";
import type { LimitSubject } from "./limit-subject.js";
import { limitClock } from "./token-bucket.js";

/**
 * Work of a request that has a limit beyond requests per second: a query runs as long as its request, a job after it,
 * and the rest adds rows or bytes to tables.
 */
export type LimitedWork = "query" | "job" | "storage";

/** How long a client waits before it sends a request again that met too many jobs, seconds. */
const JOB_RETRY_SECONDS = 10;

/**
 * How long a client waits before it sends rows again that exceeded the storage limit of a caller or a namespace,
 * seconds.
 */
const STORAGE_RETRY_SECONDS = 60;

/** The part of a call that the limits need. */
export interface LimitedCall {
  /** The object of the path. */
  readonly id: readonly string[];
}

/** What a request stores if that is not in the object of its path. */
interface StoredContent {
  /** The tables whose size it changes. */
  readonly changed?: readonly (readonly string[])[];
  /** The admission of the tables in its content, which is known when its handler runs. */
  readonly storage?: ((call: LimitedCall) => RequestAdmission) | undefined;
}

/** What the limits count of one admitted request. All methods throw `LimitExceeded`. */
export class RequestAdmission {
  /** The subjects whose count of running queries includes this request. */
  readonly #counting: LimitSubject[] = [];
  /** Work that runs, also after the reply at the deadline of the request. */
  #running = 0;
  #hasEnded = false;
  /** The storage limit with the least free bytes. */
  #free: { readonly subject: LimitSubject; bytes: number } | undefined;

  constructor(
    private readonly memory: LimitMemory,
    private readonly owner: LimitOwner,
    private readonly subjects: readonly LimitSubject[],
    private readonly work: readonly LimitedWork[],
    private readonly stored: StoredContent = {},
  ) {}

  /** Counts the request, and the query if it is one. `end` has to follow. */
  begin(now: bigint): void {
    for (const subject of this.subjects) subject.takeRequest(now);
    this.beginQuery();
  }

  /** Counts the query if the work is one. `end` has to follow. */
  beginQuery(): void {
    if (!this.work.includes("query")) return;
    try {
      for (const subject of this.subjects) if (subject.beginQuery()) this.#counting.push(subject);
    } catch (error) {
      this.end();
      throw error;
    }
  }

  /** Ends the query, when its work has ended too. Does nothing the second time. */
  end(): void {
    this.#hasEnded = true;
    this.#endIfDone();
  }

  /** Counts the query until `work` settles: the work of a request may continue after its deadline. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work;
    } finally {
      this.#running -= 1;
      this.#endIfDone();
    }
  }

  #endIfDone(): void {
    if (!this.#hasEnded || this.#running > 0) return;
    for (const subject of this.#counting.splice(0)) subject.endQuery();
  }

  /** Checks the bytes that are uploaded before the body is read. */
  checkUpload(): void {
    const now = limitClock();
    try {
      for (const subject of this.subjects) subject.checkUpload(now);
    } catch (error) {
      throw this.memory.countIfRefused(error);
    }
  }

  /** Counts bytes of the body. Refuses those that exceed the free bytes of the caller or of a namespace. */
  chargeUpload(bytes: number): void {
    const now = limitClock();
    for (const subject of this.subjects) subject.chargeUpload(bytes, now);
    this.chargeStorage(bytes);
  }

  /** Refuses bytes of rows that exceed the free bytes. `checkStorage` has to precede. */
  chargeStorage(bytes: number): void {
    if (!this.#free) return;
    this.#free.bytes -= bytes;
    if (this.#free.bytes >= 0) return;
    const { subject } = this.#free;
    const message = `${fullLabel(subject)}: the rows are larger than its free bytes`;
    throw this.#storageExceeded(subject, "bytes", message);
  }

  /** Checks the rows and bytes of the caller and of the namespaces before a write; undefined if no limit applies. */
  checkStorage(): Promise<void> | undefined {
    if (!this.work.includes("storage") || this.stored.storage) return undefined;
    const limited = this.subjects.filter(
      ({ limits }) => limits.rows !== undefined || limits.bytes !== undefined,
    );
    return limited.length > 0 ? this.#checkStorage(limited) : undefined;
  }

  async #checkStorage(limited: readonly LimitSubject[]): Promise<void> {
    const used = await this.owner.storageOf(limited.map(storageLimit));
    for (const [at, subject] of limited.entries()) {
      const { rows, bytes } = used[at] as Usage;
      const { limits } = subject;
      if (limits.rows !== undefined && rows >= limits.rows) {
        const message = `${fullLabel(subject)}: ${holder(subject)} ${rows} of ${limits.rows} rows`;
        throw this.#storageExceeded(subject, "rows", message);
      }
      if (limits.bytes === undefined) continue;
      const free = limits.bytes - bytes;
      if (free <= 0) {
        const message = `${fullLabel(subject)}: ${holder(subject)} ${bytes} of ${limits.bytes} bytes`;
        throw this.#storageExceeded(subject, "bytes", message);
      }
      if (!this.#free || free < this.#free.bytes) this.#free = { subject, bytes: free };
    }
  }

  #storageExceeded(subject: LimitSubject, limit: "rows" | "bytes", reason: string): unknown {
    const message = `${reason}; delete rows or drop tables first`;
    return this.memory.countIfRefused(subject.exceeded(limit, message, STORAGE_RETRY_SECONDS));
  }

  /** Runs the handler of the request. `jobOf`: the id of the job that it queued. */
  run<T>(
    call: LimitedCall,
    handle: () => Promise<T> | T,
    jobOf: (done: T) => string | undefined,
  ): Promise<T> | T {
    const done = this.#run(call, handle, jobOf);
    return done instanceof Promise && this.#counting.length > 0 ? this.during(done) : done;
  }

  #run<T>(
    call: LimitedCall,
    handle: () => Promise<T> | T,
    jobOf: (done: T) => string | undefined,
  ): Promise<T> | T {
    if (this.stored.storage) return this.#store(this.stored.storage(call), call, handle, jobOf);
    const { id } = call;
    const counted = this.work.includes("job")
      ? this.subjects.filter(({ limits }) => limits.jobs !== undefined)
      : [];
    if (counted.length > 0) return this.#runJob(id, counted, handle, jobOf);
    if (!this.work.includes("storage")) return handle();
    const noteChange = (done: T): T => {
      this.#noteChange(id);
      return done;
    };
    const done = handle();
    return done instanceof Promise ? done.then(noteChange) : noteChange(done);
  }

  async #store<T>(
    storage: RequestAdmission,
    call: LimitedCall,
    handle: () => Promise<T> | T,
    jobOf: (done: T) => string | undefined,
  ): Promise<T> {
    await storage.checkStorage();
    return storage.run(call, handle, jobOf);
  }

  #noteChange(id: readonly string[]): void {
    for (const table of this.stored.changed ?? [id]) this.owner.tableChanged(table);
  }

  async #runJob<T>(
    id: readonly string[],
    counted: readonly LimitSubject[],
    handle: () => Promise<T> | T,
    jobOf: (done: T) => string | undefined,
  ): Promise<T> {
    const { owner } = this;
    const reservation = await owner.reserveJob(counted.map(jobSubject));
    if ("refused" in reservation) {
      const subject = counted[reservation.refused] as LimitSubject;
      const active = `${subject.label} already has ${subject.limits.jobs} queued or running jobs`;
      throw this.memory.countIfRefused(
        new LimitExceeded("jobs", subject.scope, active, JOB_RETRY_SECONDS),
      );
    }
    let job: string | undefined;
    try {
      const done = await handle();
      job = jobOf(done);
      if (this.work.includes("storage")) this.#noteChange(id);
      return done;
    } finally {
      owner.endReservation(reservation.ticket, job);
    }
  }
}

const fullLabel = ({ scope, label }: LimitSubject): string =>
  scope === "namespace" ? `${label} is full` : `${label} is at its storage limit`;

const holder = ({ scope }: LimitSubject): string =>
  scope === "namespace" ? "it has" : "the tables that it created have";

const storageLimit = ({ scope, name, limits }: LimitSubject): StorageLimit => ({
  ...(scope === "namespace" ? { namespace: decodePath(name) } : { creator: name }),
  ...(limits.rows !== undefined && { rows: limits.rows }),
  ...(limits.bytes !== undefined && { bytes: limits.bytes }),
});

const jobSubject = ({ scope, name, limits }: LimitSubject): JobSubject => ({
  name: `${scope}:${name}`,
  limit: limits.jobs as number,
});
