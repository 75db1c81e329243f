import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Catalog } from "../../catalog/catalog.js";
import type { RaySettings } from "../../config/ray.js";
import { functionProgram, versions } from "../../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import type { Logger } from "../../telemetry/logger.js";
import type { Executor, RemoteJob } from "../executor.js";
import { SERVER_STOPS } from "../jobs.js";
import type { JobStore } from "../store.js";
import { JobsApi, RayError, type RayJob } from "./jobs-api.js";
import { endedEarly, forgotten, reasonOf, versionMismatch } from "./ray-failures.js";
import type {
  Claim,
  PartReport,
  ProgressReport,
  RemoteOrderReply,
  WorkerCalls,
  WorkerKeys,
} from "./worker-calls.js";
import { WorkerPackage } from "./worker-package.js";
import { WorkerStores } from "./worker-stores.js";

/** Time between two looks at a job of Ray, ms. */
const POLL_INTERVAL = 2_000;
/** How long Ray may be away until its jobs fail, ms. */
const PATIENCE = 30_000;
/** Characters of what workers report. */
const MAX_FAILURE = 2_000;

export interface RayExecutorDependencies {
  readonly settings: RaySettings;
  readonly keys: WorkerKeys;
  readonly jobs: Pick<JobStore, "ownedJobs">;
  readonly catalog: Pick<Catalog, "cloneSource">;
  readonly log: Logger;
}

/** A job of Ray, and the key of its workers. */
interface Submission {
  /** The id of the job of Ray. */
  readonly id: string;
  readonly key: string;
}

/** A job whose workers run on Ray. */
interface RunningJob extends RemoteJob {
  /** Another one than that of earlier runs: the numbers of orders begin anew with each run. */
  readonly run: string;
  /** The workers have replaced the token that Ray shows. */
  isClaimed: boolean;
  readonly stores: WorkerStores;
  /** The location of the table or the branch that the last order names. */
  written?: string;
}

/**
 * Runs the workers of jobs on a Ray cluster.
 *
 * Each job has one job of Ray at a time. Its id begins with that of the job, so that the next run of the job finds it:
 * no catalog stores it. Its driver asks this server for orders, and its tasks do them.
 */
export class RayExecutor implements Executor, WorkerCalls {
  readonly #running = new Map<string, RunningJob>();
  /** Ray jobs that this server stops, by the id of the job. The next run of the job here would attach to them. */
  readonly #ending = new Map<string, Promise<void>>();
  readonly #api: JobsApi;
  #package: WorkerPackage | undefined;

  readonly minBytes: number;

  constructor(private readonly dependencies: RayExecutorDependencies) {
    this.minBytes = dependencies.settings.minBytes;
    this.#api = new JobsApi(dependencies.settings);
  }

  async run(job: RemoteJob, signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve());
    });
    const former = await this.#formerKey(job.id);
    const isOrdered = await Promise.race([job.work.ordered(), aborted.then(() => false)]);
    if (isOrdered) await Promise.race([this.#ending.get(job.id), aborted]);
    const submission =
      isOrdered && !signal.aborted ? await this.#runWorkers(job, signal, aborted) : undefined;
    if (signal.reason === SERVER_STOPS) return;
    if (submission) this.#endLater(job.id, () => this.#end(submission));
    else if (former !== undefined) {
      this.#endLater(job.id, () => this.#endFormer(job.id, former));
    }
  }

  /** Watches the workers until the run ends. Returns the Ray job that it leaves. */
  async #runWorkers(
    job: RemoteJob,
    signal: AbortSignal,
    aborted: Promise<void>,
  ): Promise<Submission | undefined> {
    let submission: Submission | undefined;
    try {
      submission = await this.#patiently(() => this.#attach(job.id), signal);
      // Workers of an earlier run may call from here on.
      const isClaimed =
        submission !== undefined && (await this.dependencies.keys.isReplaced(job.id));
      const stores = new WorkerStores(this.dependencies, job);
      const running = { ...job, run: newRun(), isClaimed, stores };
      this.#running.set(job.id, running);
      submission ??= await this.#submit(running, signal);
      await Promise.race([this.#watch(submission.id, signal), aborted]);
    } catch (error) {
      if (!(error instanceof JobLost)) job.work.fail(reasonOf(error), false);
    }
    await aborted;
    this.#running.delete(job.id);
    return submission;
  }

  /** The result of a job does not wait for Ray, but the next run of the job does. `end` never rejects. */
  #endLater(job: string, end: () => Promise<void>): void {
    const ending = (this.#ending.get(job) ?? Promise.resolve()).then(end).finally(() => {
      if (this.#ending.get(job) === ending) this.#ending.delete(job);
    });
    this.#ending.set(job, ending);
  }

  /** The key of the workers of an earlier run. Never rejects. */
  async #formerKey(job: string): Promise<string | undefined> {
    const { keys, log } = this.dependencies;
    try {
      const key = await keys.idOf(job);
      return key !== undefined && (await this.#isOwned(job)) ? key : undefined;
    } catch (err) {
      log.warn({ err, job }, "the key of the workers of a job could not be read");
      return undefined;
    }
  }

  /** If this server owns the job, what it has read of the keys and of Ray before is of no later owner. */
  async #isOwned(job: string): Promise<boolean> {
    return (await this.dependencies.jobs.ownedJobs()).has(job);
  }

  /**
   * Stops the Ray jobs of earlier runs on this server, if this run has no workers. Another server may have taken over
   * the job in the meantime: its Ray job has another address, and needs the key. Never rejects.
   */
  async #endFormer(job: string, key: string): Promise<void> {
    const { settings, keys, log } = this.dependencies;
    try {
      const jobs = await this.#jobsOf(job);
      const own = jobs.filter(({ metadata }) => metadata?.joust_url === settings.serverUrl);
      if (own.length === jobs.length) await keys.revoke(key);
      for (const { submission_id } of own) await this.#api.stop(submission_id);
    } catch (err) {
      log.warn(
        { err, job },
        "the server could not stop the remaining Ray tasks of a job; they stop without it",
      );
    }
  }

  /** Repeats requests while Ray is away for a short time. */
  async #patiently<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const begun = performance.now();
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const isTransient = error instanceof RayError && error.isTransient;
        if (!isTransient || signal.aborted || performance.now() - begun > PATIENCE) throw error;
      }
      await delay(POLL_INTERVAL, undefined, { signal }).catch(() => {});
    }
  }

  /** The job of Ray that an earlier run started, if this server can use it. Stops others. @throws JobLost */
  async #attach(job: string): Promise<Submission | undefined> {
    const { settings, keys, log } = this.dependencies;
    const key = await keys.idOf(job);
    const jobs = await this.#jobsOf(job);
    if (!(await this.#isOwned(job))) throw new JobLost();
    let found: Submission | undefined;
    for (const { submission_id, metadata } of jobs) {
      const isUsable =
        metadata?.joust_url === settings.serverUrl && metadata?.joust_version === versions().engine;
      if (isUsable && key !== undefined && !found) found = { id: submission_id, key };
      else await this.#api.stop(submission_id);
    }
    if (found) {
      log.info({ job, ray: found.id }, "attached to the Ray job of an earlier run");
    }
    return found;
  }

  /** @throws JobLost */
  async #submit(running: RunningJob, signal: AbortSignal): Promise<Submission> {
    const { settings, keys, log } = this.dependencies;
    this.#package ??= new WorkerPackage();
    const { name, archive } = this.#package;
    const upload = () => this.#api.upload(name, () => archive);
    const working_dir = await this.#patiently(upload, signal);
    const submission_id = `${prefixOf(running.id)}${running.run}`;
    const issued = await keys.issue(running.id);
    if (!issued) throw new JobLost();
    const { id: key, token } = issued;
    const submission = {
      submission_id,
      entrypoint: "python -m joust_worker",
      metadata: { joust_url: settings.serverUrl, joust_version: versions().engine },
      runtime_env: {
        working_dir,
        env_vars: {
          JOUST_URL: settings.serverUrl,
          JOUST_JOB: running.id,
          JOUST_TOKEN: token,
        },
      },
    };
    const submit = async () => {
      // A submission without a reply may have taken effect, and the same id again is an error.
      if (!(await this.#api.find(submission_id))) await this.#api.submit(submission);
    };
    await this.#patiently(submit, signal).catch(async (error: unknown) => {
      await keys.revoke(key);
      throw error;
    });
    log.info({ job: running.id, ray: submission_id }, "started a Ray job");
    return { id: submission_id, key };
  }

  /** The jobs of Ray for a job that have not ended. */
  async #jobsOf(job: string): Promise<RayJob[]> {
    const jobs = await this.#api.list();
    return jobs.filter((one) => one.submission_id?.startsWith(prefixOf(job)) && !hasEnded(one));
  }

  /** Waits for the signal. @throws RayError when Ray or the job of Ray has failed */
  async #watch(submission: string, signal: AbortSignal): Promise<void> {
    let answered = performance.now();
    for (;;) {
      await delay(POLL_INTERVAL, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        const job = await this.#api.find(submission);
        if (!job) throw forgotten(this.dependencies.settings.address);
        if (hasEnded(job)) throw endedEarly(job);
        answered = performance.now();
      } catch (error) {
        if (signal.aborted) return;
        const isTransient = error instanceof RayError && error.isTransient;
        if (!isTransient || performance.now() - answered > PATIENCE) throw error;
      }
    }
  }

  /** The job needs no workers any more. Never rejects. */
  async #end({ id, key }: Submission): Promise<void> {
    const { keys, log } = this.dependencies;
    try {
      // A driver whose key is revoked stops, even if Ray does not stop it. Another server may have issued a new key.
      await keys.revoke(key);
      await this.#api.stop(id);
    } catch (err) {
      log.warn(
        { err, ray: id },
        "the server could not stop a Ray job; the Ray job stops without it",
      );
    }
  }

  async claim(
    job: string,
    token: string,
    { versions: installed, replacement }: Claim,
  ): Promise<void> {
    const running = await this.#find(job, token);
    const mismatch = versionMismatch(installed);
    if (mismatch !== undefined) {
      running.work.fail(mismatch, true);
      throw invalidInput(mismatch);
    }
    if (!(await this.dependencies.keys.replace(job, token, replacement))) throw unknownToken();
    running.isClaimed = true;
  }

  async order(job: string, token: string, known: string): Promise<RemoteOrderReply> {
    const running = await this.#claimed(job, token);
    const number = running.work.orderNumber();
    if (number === null) return {};
    const current = `${running.run}-${number}`;
    if (current === known) {
      const { stores, written } = running;
      if (!stores.areTemporary || written === undefined) return { order_id: current };
      return { order_id: current, ...(await stores.options(written)) };
    }
    const order = running.work.order();
    if (!order) return {};
    const details = JSON.parse(order.text) as { location: string };
    running.written = details.location;
    const { limits, cpus, gpus } = this.dependencies.settings;
    return {
      order_id: `${running.run}-${order.number}`,
      order: {
        ...details,
        cpus,
        gpus,
        ...(await running.stores.options(details.location)),
        ...(order.function && {
          payload: order.function.toString("base64"),
          program: functionProgram(),
          limits: {
            memory_bytes: limits.memoryBytes,
            call_timeout_ms: limits.callTimeoutMs,
            cpu_time_ms: limits.cpuTimeMs,
            network: limits.network,
            environment: limits.environment,
          },
        }),
      },
    };
  }

  async progress(job: string, token: string, report: ProgressReport): Promise<boolean> {
    const { work } = await this.#claimed(job, token);
    return work.progress(report.key, report.units);
  }

  async deliver(job: string, token: string, part: PartReport): Promise<boolean> {
    const { work } = await this.#claimed(job, token);
    return work.deliver(JSON.stringify(part));
  }

  async fail(job: string, token: string, message: string): Promise<void> {
    const { work } = await this.#find(job, token);
    work.fail(message.slice(0, MAX_FAILURE), true);
  }

  async #claimed(job: string, token: string): Promise<RunningJob> {
    const running = await this.#find(job, token);
    if (running.isClaimed) return running;
    throw unknownToken();
  }

  /** @throws code 16 for a token of another job, code 17 while the job does not run here */
  async #find(job: string, token: string): Promise<RunningJob> {
    if (!(await this.dependencies.keys.isOf(job, token))) throw unknownToken();
    const running = this.#running.get(job);
    if (running) return running;
    throw new JoustError(
      ErrorCode.ServiceUnavailable,
      `the job ${job} does not run on this server: try again until it does, or until its token is invalid`,
    );
  }
}

/** Another server has taken over the job. This one changes nothing, and waits until its runner aborts the run. */
class JobLost extends Error {}

const newRun = (): string => randomBytes(4).toString("hex");

const prefixOf = (job: string): string => `joust-${job}-`;

const hasEnded = ({ status }: RayJob): boolean => status !== "PENDING" && status !== "RUNNING";

const unknownToken = (): JoustError =>
  new JoustError(
    ErrorCode.Unauthenticated,
    "the token of this worker is invalid: its job has ended, or another worker has replaced it",
  );
