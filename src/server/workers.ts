import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { packageFile } from "../foundation/package-files.js";
import type { Drainable } from "../http/drain.js";
import type { LimitRules } from "../limits/limit-rules.js";
import type { Threads } from "../tables/table-writes.js";
import type { Logger } from "../telemetry/logger.js";
import { type Targets, ThreadExited, ThreadRpc } from "../threads/thread-rpc.js";
import type { WorkerInput, WorkerTargets } from "./worker.js";

/** The HTTP server of a worker thread, as the main thread calls it. */
type RemoteServer = Drainable & {
  listen(host: string, port: number, shared: true): Promise<number>;
  reloadTls(): Promise<void>;
  setLimits(rules: LimitRules): Promise<void>;
};

interface WorkerThread {
  readonly worker: Worker;
  readonly server: RemoteServer;
  readonly thread: WorkerTargets["thread"];
  /** It has answered a call. */
  isLoaded: boolean;
}

export interface WorkersOptions {
  /** Number of worker threads. */
  readonly count: number;
  readonly input: Omit<WorkerInput, "name" | "number">;
  /** The objects of the main thread that the workers call. */
  readonly targets: Targets;
  readonly log: Logger;
}

/** How long a thread may take to close its sockets when the server stops without a drain, ms. */
const CLOSE_TIMEOUT = 1_000;
/** The same while it loads its modules, which takes seconds on a busy host. Its end would abort Node before that. */
const LOAD_TIMEOUT = 60_000;

/** The worker threads that serve requests. The process exits if one of them exits. */
export class Workers implements Threads {
  readonly #threads: WorkerThread[] = [];
  #stopping = false;

  /** `endInMainThread`: the main thread's part of `endTableWork`. */
  constructor(private readonly endInMainThread: (key: string) => Promise<void>) {}

  async endTableWork(key: string): Promise<void> {
    const inWorkers = this.#threads.map(({ thread }) => untilExit(thread.endTableWork(key)));
    await Promise.all([this.endInMainThread(key), ...inWorkers]);
  }

  start({ count, input, targets, log }: WorkersOptions): void {
    for (let number = 2; number < count + 2; number++) {
      const name = `joust-http-${number}`;
      const workerData: WorkerInput = { ...input, name, number: number - 1 };
      const worker = new Worker(packageFile("dist/server/worker.js"), { name, workerData });
      worker.on("error", (err) => log.error({ err, thread: name }, "a thread has failed"));
      const rpc = new ThreadRpc(worker, targets);
      const thread = {
        worker,
        server: rpc.remote<RemoteServer>("server"),
        thread: rpc.remote<WorkerTargets["thread"]>("thread"),
        isLoaded: false,
      };
      this.#threads.push(thread);
      worker.on("exit", () => {
        this.#threads.splice(this.#threads.indexOf(thread), 1);
        rpc.exit();
        void this.#onExit(name, log);
      });
    }
  }

  /** Without one of its threads the server would serve only a part of the connections. */
  async #onExit(thread: string, log: Logger): Promise<void> {
    if (this.#stopping) return;
    log.error({ thread }, "a thread that serves requests has exited; the server stops");
    await this.closeAll();
    process.exit(1);
  }

  /**
   * Closes all sockets before an exit without a drain. Node aborts the process with a trace if a thread
   * with an open socket is terminated.
   */
  async closeAll(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#threads.map(close));
  }

  /** Resolves when all threads accept requests. */
  async listen(host: string, port: number): Promise<void> {
    await Promise.all(
      this.#threads.map(async (thread) => {
        await thread.server.listen(host, port, true);
        thread.isLoaded = true;
      }),
    );
  }

  get servers(): readonly RemoteServer[] {
    return this.#threads.map(({ server }) => server);
  }

  /** Terminates the threads. The caller has drained them: no request is in flight, no socket is open. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#threads.map(({ thread }) => untilExit(thread.flush())));
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }
}

async function close({ server, isLoaded }: WorkerThread): Promise<void> {
  const timeout = isLoaded ? CLOSE_TIMEOUT : LOAD_TIMEOUT;
  const closed = untilExit((async () => server.closeConnections())());
  await Promise.race([closed, delay(timeout, undefined, { ref: false })]);
}

/** A thread that has exited has no work, no sockets and nothing to send. */
const untilExit = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((error) => {
    if (!(error instanceof ThreadExited)) throw error;
  });
