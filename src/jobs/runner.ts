import { setTimeout as delay } from "node:timers/promises";
import type { Catalog, Page, PageRequest } from "../catalog/catalog.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { Logger } from "../telemetry/logger.js";
import type {
  JobCount,
  JobErrors,
  JobKind,
  JobOutcome,
  JobProgress,
  JobRecord,
  JobRequest,
  Jobs,
  ListedJob,
} from "./jobs.js";
import { throttled } from "./progress.js";
import type { JobStore } from "./store.js";

/** How often the store is asked for jobs of other servers, and whether ours are still ours, ms. */
const POLL_INTERVAL = 2_000;
/** How long a cancelled job may take to end before nobody waits for it any more, ms. */
const CANCEL_TIMEOUT = 10_000;
const RETRY_INTERVAL = 1_000;

export interface RunnerOptions {
  store: JobStore;
  catalog: Pick<Catalog, "tableByKey">;
  kinds: readonly JobKind[];
  log: Logger;
  /** Jobs of other kinds are left to others; else they fail. */
  onlyKinds?: boolean;
  /** Called with each job that is done. */
  onDone?(job: JobRecord): void;
  /** Jobs that run at the same time, over all tables (default 2). */
  maxRunning?: number;
}

/** Takes up what earlier runs left and starts working. */
export function startJobs(options: RunnerOptions): Jobs {
  const runner = new JobRunner(options);
  runner.start();
  return runner;
}

interface Running {
  readonly job: JobRecord;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

class JobRunner implements Jobs {
  readonly #store: JobStore;
  readonly #kinds: ReadonlyMap<string, JobKind>;
  readonly #maxRunning: number;
  readonly #running = new Map<string, Running>();
  #timer: NodeJS.Timeout | undefined;
  #filling: Promise<void> | undefined;
  #fillAgain = false;
  #stopping = false;

  constructor(private readonly options: RunnerOptions) {
    this.#store = options.store;
    this.#kinds = new Map(options.kinds.map((kind) => [kind.kind, kind]));
    this.#maxRunning = options.maxRunning ?? 2;
  }

  start(): void {
    void this.#poll();
  }

  async enqueue(request: JobRequest): Promise<JobRecord> {
    const job = await this.#store.enqueue(request);
    this.#fill();
    return job;
  }

  list(table: string): Promise<JobRecord[]> {
    return this.#store.list(table);
  }

  async describe(id: string): Promise<JobRecord> {
    const job = await this.#store.find(id);
    if (job) return job;
    throw new JoustError(
      ErrorCode.TransactionNotFound,
      `there is no job or transaction ${JSON.stringify(id)}`,
    );
  }

  async cancel(id: string): Promise<JobRecord> {
    await this.describe(id);
    await this.#store.cancel({ id });
    this.#running.get(id)?.abort.abort();
    return this.describe(id);
  }

  errors(table: string, job?: string): Promise<JobErrors[]> {
    return this.#store.errors(table, job);
  }

  counts(): Promise<JobCount[]> {
    return this.#store.counts();
  }

  running(): number {
    return this.#running.size;
  }

  listAll(page: PageRequest): Promise<Page<ListedJob>> {
    return this.#store.listAll(page);
  }

  async pause(id: string): Promise<JobRecord> {
    await this.describe(id);
    await this.#store.pause(id, true);
    await this.#end(({ job }) => job.id === id);
    return this.describe(id);
  }

  async resume(id: string): Promise<JobRecord> {
    await this.describe(id);
    await this.#store.pause(id, false);
    this.#fill();
    return this.describe(id);
  }

  async cancelTable(table: string): Promise<void> {
    await this.#store.cancel({ table });
    await this.#end(({ job }) => job.table === table);
  }

  async discard(table: string, name: string): Promise<void> {
    await this.#store.cancel({ table, name });
    await this.#end(({ job }) => job.table === table && job.name === name);
    await this.#store.forget(table, name);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#filling;
    await this.#end(() => true);
  }

  /** Stops jobs and waits for them. */
  async #end(which: (running: Running) => boolean): Promise<void> {
    // One that was claimed a moment ago is about to run.
    await this.#filling;
    const ending = [...this.#running.values()].filter(which);
    for (const { abort } of ending) abort.abort();
    const waiting = new AbortController();
    const patience = delay(CANCEL_TIMEOUT, undefined, { signal: waiting.signal }).catch(() => {});
    await Promise.race([Promise.all(ending.map(({ ended }) => ended)), patience]);
    waiting.abort();
  }

  async #poll(): Promise<void> {
    try {
      await this.#store.recover();
      await this.#dropLost();
    } catch (err) {
      this.options.log.warn({ err }, "the job queue could not be read");
    }
    if (this.#stopping) return;
    this.#fill();
    this.#timer = setTimeout(() => void this.#poll(), POLL_INTERVAL);
    this.#timer.unref();
  }

  /** Stops the jobs that another server cancelled, or took over. */
  async #dropLost(): Promise<void> {
    if (this.#running.size === 0) return;
    const ids = [...this.#running.keys()];
    const mine = await this.#store.stillMine(ids);
    for (const id of ids) if (!mine.has(id)) this.#running.get(id)?.abort.abort();
  }

  /** Starts waiting jobs as long as there is room. */
  #fill(): void {
    this.#fillAgain = true;
    this.#filling ??= this.#claimAll()
      .catch((err) => this.options.log.warn({ err }, "no job could be started"))
      .finally(() => {
        this.#filling = undefined;
        if (this.#fillAgain) this.#fill();
      });
  }

  async #claimAll(): Promise<void> {
    this.#fillAgain = false;
    while (!this.#stopping && this.#running.size < this.#maxRunning) {
      const busy = [...this.#running.values()].map(({ job }) => job);
      const job = await this.#store.claim(
        busy,
        this.options.onlyKinds ? [...this.#kinds.keys()] : undefined,
      );
      if (!job) return;
      this.#launch(job);
    }
  }

  #launch(job: JobRecord): void {
    const abort = new AbortController();
    const ended = this.#run(job, abort).finally(() => {
      this.#running.delete(job.id);
      if (!this.#stopping) this.#fill();
    });
    this.#running.set(job.id, { job, abort, ended });
    if (this.#stopping) abort.abort();
  }

  async #run(job: JobRecord, abort: AbortController): Promise<void> {
    const { log } = this.options;
    const about = { job: job.id, kind: job.kind, name: job.name };
    log.info(about, "job started");
    const progress = throttled((latest) => {
      this.#store.progress(job.id, latest).then(
        (mine) => mine || abort.abort(),
        (err) => log.warn({ ...about, err }, "a job's progress was not stored"),
      );
    });
    try {
      const outcome = await this.#work(job, abort.signal, progress.report);
      progress.stop();
      await this.#record(() => this.#store.done(job.id, outcome));
      log.info(about, "job done");
      this.options.onDone?.(job);
    } catch (err) {
      progress.stop();
      if (this.#stopping) return void (await this.#record(() => this.#store.requeue(job.id)));
      if (abort.signal.aborted) return log.info(about, "job stopped");
      log.warn({ ...about, err }, "job failed");
      const { code, message } = reason(err);
      await this.#record(() => this.#store.failed(job.id, code, message));
    }
  }

  async #work(
    job: JobRecord,
    signal: AbortSignal,
    onProgress: (progress: JobProgress) => void,
  ): Promise<JobOutcome> {
    const kind = this.#kinds.get(job.kind);
    if (!kind) {
      throw new JoustError(ErrorCode.Unsupported, `this server has no jobs of kind ${job.kind}`);
    }
    const table = await this.options.catalog.tableByKey(job.table);
    if (!table) throw new JoustError(ErrorCode.TableNotFound, "the table does not exist any more");
    signal.throwIfAborted();
    return kind.run({ job, table, spec: job.spec, signal, onProgress });
  }

  /** Writes how a job ended; a catalog that is away for a while must not leave it running for ever. */
  async #record(write: () => Promise<boolean>): Promise<void> {
    for (;;) {
      try {
        await write();
        return;
      } catch (err) {
        this.options.log.warn({ err }, "how a job ended was not stored; trying again");
        if (this.#stopping) return;
        await delay(RETRY_INTERVAL);
      }
    }
  }
}

/** What a client may read about a failure. */
function reason(error: unknown): { code: number; message: string } {
  if (error instanceof Error && "code" in error && typeof error.code === "number") {
    return { code: error.code, message: error.message };
  }
  return {
    code: ErrorCode.Internal,
    message: "the job failed for a reason that is in the server's log",
  };
}
