import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Drainable } from "../http/drain.js";
import type { Threads } from "../tables/table-writes.js";
import type { Logger } from "../telemetry/logger.js";
import { type Targets, ThreadRpc } from "../threads/thread-rpc.js";
import type { WorkerInput, WorkerTargets } from "./worker.js";

/** The server of another thread, as this one calls it. */
type RemoteServer = Drainable & {
  listen(host: string, port: number, shared: true): Promise<number>;
  reloadTls(): Promise<void>;
};

interface Thread {
  readonly worker: Worker;
  readonly server: RemoteServer;
  readonly own: WorkerTargets["thread"];
}

export interface WorkersOptions {
  /** Threads beside the first. */
  readonly count: number;
  readonly input: Omit<WorkerInput, "name">;
  /** What they may call here. */
  readonly targets: Targets;
  readonly log: Logger;
}

/** How long threads may take to close their sockets when there is no time for a drain, ms. */
const CLOSE_TIMEOUT = 1_000;

/** The threads beside the first that take requests. Without one of them the process ends. */
export class Workers implements Threads {
  readonly #threads: Thread[] = [];
  #stopping = false;

  /** `leaveHere`: the first thread's part of `leaveTable`. */
  constructor(private readonly leaveHere: (key: string) => Promise<void>) {}

  async releaseTable(key: string): Promise<void> {
    const others = this.#threads.map(({ own }) => own.leaveTable(key));
    await Promise.all([this.leaveHere(key), ...others]);
  }

  start({ count, input, targets, log }: WorkersOptions): void {
    for (let number = 2; number < count + 2; number++) {
      const name = `joust-http-${number}`;
      const workerData: WorkerInput = { ...input, name };
      const worker = new Worker(new URL("./worker.js", import.meta.url), { name, workerData });
      worker.on("error", (err) => log.error({ err, thread: name }, "a thread has failed"));
      worker.on("exit", () => void this.#lost(name, log));
      const peer = new ThreadRpc(worker, targets);
      this.#threads.push({ worker, server: peer.remote("server"), own: peer.remote("thread") });
    }
  }

  /** Half a server would answer half of the requests. */
  async #lost(thread: string, log: Logger): Promise<void> {
    if (this.#stopping) return;
    log.error({ thread }, "a thread that takes requests has ended, and the server ends with it");
    await this.closeAll();
    process.exit(1);
  }

  /** Before an end in haste. A thread with an open socket can't be ended: Node breaks off with a trace. */
  async closeAll(): Promise<void> {
    this.#stopping = true;
    const cut = Promise.all(this.servers.map((server) => server.closeConnections()));
    await Promise.race([cut, delay(CLOSE_TIMEOUT)]);
  }

  /** Resolves when all of them take requests. */
  async listen(host: string, port: number): Promise<void> {
    await Promise.all(this.servers.map((server) => server.listen(host, port, true)));
  }

  get servers(): readonly RemoteServer[] {
    return this.#threads.map(({ server }) => server);
  }

  /** Nothing is asked of them any more, and their sockets are closed. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }
}
