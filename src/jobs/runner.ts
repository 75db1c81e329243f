import { setTimeout as delay } from "node:timers/promises";
import type { Catalog, NamespacePath, Page, PageRequest } from "../catalog/catalog.js";
import type { FullyVisible } from "../catalog/grants/visible-objects.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { startPolling } from "../foundation/poll-loop.js";
import type { Logger } from "../telemetry/logger.js";
import { tracing } from "../telemetry/tracing.js";
import { jobNotFound } from "./failures.js";
import {
  type JobCount,
  type JobErrors,
  type JobKind,
  type JobOutcome,
  type JobProgress,
  type JobRecord,
  type JobRequest,
  type Jobs,
  type ListedJob,
  SERVER_STOPS,
} from "./jobs.js";
import { throttleProgress } from "./progress.js";
import type { JobStore } from "./store.js";

/** How often the runner reads the queue for jobs of other servers and for cancelled jobs, ms. */
const POLL_INTERVAL = 2_000;
const CANCEL_TIMEOUT = 10_000;
const RETRY_INTERVAL = 1_000;

export interface RunnerOptions {
  store: JobStore;
  catalog: Pick<Catalog, "tableByKey">;
  kinds: readonly JobKind[];
  log: Logger;
  /** Leaves jobs of other kinds to other servers. Without it they fail. */
  onlyKinds?: boolean;
  /** Called with each job that is DONE. */
  onDone?(job: JobRecord): void;
  /** Jobs that run at the same time, over all tables (default 2). */
  maxRunning?: number;
  /** How long a caller waits for cancelled jobs to end, ms (default 10 s). */
  cancelTimeoutMs?: number;
}

/** Starts to run the queued jobs, those of earlier processes included. */
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
  #stopPolling: (() => Promise<void>) | undefined;
  #claiming: Promise<void> | undefined;
  #claimAgain = false;
  #stopping = false;

  constructor(private readonly options: RunnerOptions) {
    this.#store = options.store;
    this.#kinds = new Map(options.kinds.map((kind) => [kind.kind, kind]));
    this.#maxRunning = options.maxRunning ?? 2;
  }

  start(): void {
    this.#stopPolling = startPolling(
      POLL_INTERVAL,
      () => this.#poll(),
      (err) => this.options.log.warn({ err }, "the job queue could not be read"),
      { immediate: true },
    );
  }

  async enqueue(request: JobRequest): Promise<JobRecord> {
    const job = await this.#store.enqueue(request);
    tracing?.jobQueued(job.id);
    this.#startJobs();
    return job;
  }

  list(table: string): Promise<JobRecord[]> {
    return this.#store.list(table);
  }

  async describe(id: string): Promise<JobRecord> {
    const job = await this.#store.find(id);
    if (job) return job;
    throw jobNotFound(id);
  }

  async cancel(id: string): Promise<JobRecord> {
    await this.describe(id);
    await this.#store.cancel({ id });
    const running = this.#running.get(id);
    running?.abort.abort();
    const job = await this.describe(id);
    // A job that runs here does so when it has ended.
    if (!running && job.state === "CANCELLED") void this.#discard(job);
    return job;
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

  listAll(
    page: PageRequest,
    visible?: FullyVisible,
    within?: NamespacePath,
  ): Promise<Page<ListedJob>> {
    return this.#store.listAll(page, visible, within);
  }

  async pause(id: string): Promise<JobRecord> {
    await this.describe(id);
    await this.#store.pause(id, true);
    await this.#abort(({ job }) => job.id === id);
    return this.describe(id);
  }

  async resume(id: string): Promise<JobRecord> {
    await this.describe(id);
    await this.#store.pause(id, false);
    this.#startJobs();
    return this.describe(id);
  }

  async cancelTable(table: string): Promise<boolean> {
    await this.#store.cancel({ table });
    return this.#abort(({ job }) => job.table === table);
  }

  async discard(table: string, name: string): Promise<boolean> {
    await this.#store.cancel({ table, name });
    const ended = await this.#abort(({ job }) => job.table === table && job.name === name);
    if (ended) await this.#store.forget(table, name);
    return ended;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#stopPolling?.();
    await this.#claiming;
    await this.#abort(() => true, SERVER_STOPS);
  }

  /** Aborts jobs. Resolves to true when they have ended, and to false after the time limit. */
  async #abort(which: (running: Running) => boolean, reason?: Error): Promise<boolean> {
    // A job that was just claimed is about to run.
    await this.#claiming;
    const ending = [...this.#running.values()].filter(which);
    for (const { abort } of ending) abort.abort(reason);
    const waiting = new AbortController();
    const { cancelTimeoutMs = CANCEL_TIMEOUT } = this.options;
    const timeout = delay(cancelTimeoutMs, false, { signal: waiting.signal }).catch(() => false);
    const ended = Promise.all(ending.map(({ ended }) => ended)).then(() => true);
    const inTime = await Promise.race([ended, timeout]);
    waiting.abort();
    return inTime;
  }

  async #poll(): Promise<void> {
    try {
      await this.#store.recover();
      await this.#checkOwned();
    } finally {
      if (!this.#stopping) this.#startJobs();
    }
  }

  /** Compares the jobs that run here with those that the catalog assigns to this server. */
  async #checkOwned(): Promise<void> {
    const ids = [...this.#running.keys()];
    const owned = await this.#store.ownedJobs();
    // Another server cancelled these jobs or took them over.
    for (const id of ids) if (!owned.has(id)) this.#running.get(id)?.abort.abort();
    for (const id of owned) {
      // A claim in progress is about to start its job. A job that ends runs until its end is stored.
      if (this.#claiming || this.#running.has(id)) continue;
      // The claim was committed, but the reply was lost. Without this, no other job of the table would run.
      if (await this.#store.requeue(id)) {
        this.options.log.warn({ job: id }, "queued a job again whose claim got no reply");
      }
    }
  }

  /** Starts waiting jobs until `maxRunning` jobs run. */
  #startJobs(): void {
    this.#claimAgain = true;
    this.#claiming ??= this.#claimAll()
      .catch((err) => this.options.log.warn({ err }, "no job could be started"))
      .finally(() => {
        this.#claiming = undefined;
        if (this.#claimAgain) this.#startJobs();
      });
  }

  async #claimAll(): Promise<void> {
    this.#claimAgain = false;
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
      if (!this.#stopping) this.#startJobs();
    });
    this.#running.set(job.id, { job, abort, ended });
    if (this.#stopping) abort.abort(SERVER_STOPS);
  }

  async #run(job: JobRecord, abort: AbortController): Promise<void> {
    const { log } = this.options;
    const about = { job: job.id, kind: job.kind, name: job.name };
    log.info(about, "job started");
    const progress = throttleProgress((latest) => {
      this.#store.progress(job.id, latest).then(
        (isOwned) => isOwned || abort.abort(),
        (err) => log.warn({ ...about, err }, "a job's progress was not stored"),
      );
    });
    try {
      const work = () => this.#work(job, abort.signal, progress.report);
      const outcome = await (tracing ? tracing.runJob(job, work) : work());
      progress.stop();
      await this.#record(() => this.#store.done(job.id, outcome));
      log.info(about, "job done");
      this.options.onDone?.(job);
    } catch (err) {
      progress.stop();
      const serverStops = this.#stopping;
      if (serverStops || abort.signal.aborted) {
        log.info(about, "job stopped");
        // This changes only a job that the catalog still assigns to this server: no request has cancelled it.
        await this.#record(() => this.#store.requeue(job.id));
        if (!serverStops) await this.#discardCancelled(job.id);
        return;
      }
      log.warn({ ...about, err }, "job failed");
      const { code, message } = clientError(err);
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

  /** Another server may have cancelled the job, or taken it over. Never rejects. */
  async #discardCancelled(id: string): Promise<void> {
    const job = await this.#store.find(id).catch(() => undefined);
    if (job?.state === "CANCELLED") await this.#discard(job);
  }

  /** Removes what a cancelled job has left. Never rejects. */
  async #discard(job: JobRecord): Promise<void> {
    try {
      const kind = this.#kinds.get(job.kind);
      const table = kind?.discard && (await this.options.catalog.tableByKey(job.table));
      if (table) await kind.discard?.({ job, table, spec: job.spec });
    } catch (err) {
      const { log } = this.options;
      log.warn({ err, job: job.id }, "the files of a cancelled job stay until version clean-up");
    }
  }

  /** Stores how a job ended. Repeats failed writes: else the job would count as running until this server stops. */
  async #record(write: () => Promise<boolean>): Promise<void> {
    for (;;) {
      try {
        await write();
        return;
      } catch (err) {
        this.options.log.warn({ err }, "the end of a job could not be stored and will be repeated");
        if (this.#stopping) return;
        await delay(RETRY_INTERVAL);
      }
    }
  }
}

/** The part of an error that clients may read. */
function clientError(error: unknown): { code: number; message: string } {
  if (error instanceof Error && "code" in error && typeof error.code === "number") {
    return { code: error.code, message: error.message };
  }
  return {
    code: ErrorCode.Internal,
    message: "the job failed: the server's log has the reason",
  };
}
