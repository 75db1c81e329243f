import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { FunctionLimits } from "../../../src/config/functions.js";
import type { RaySettings } from "../../../src/config/ray.js";
import { RemoteWork } from "../../../src/engine/index.js";
import type { Executor } from "../../../src/jobs/executor.js";

interface SubmittedJob {
  submission_id: string;
  status: string;
  metadata: Record<string, string>;
}

/** A request that `StubRay.hold` delays. */
type HeldRequest = "list" | "submission" | "upload";

interface Hold {
  /** The request is there. */
  readonly arrived: Promise<void>;
  readonly released: Promise<void>;
  release(): void;
  arrive(): void;
}

/** The Jobs API of Ray. test/clients/ray has a real cluster. */
export class StubRay {
  readonly jobs: SubmittedJob[] = [];
  lists = 0;
  readonly #holds = new Map<HeldRequest, Hold>();
  readonly #server: Server = createServer(async (request, reply) => {
    const body = await text(request);
    const end = (content: unknown, status = 200) =>
      reply.writeHead(status).end(JSON.stringify(content));
    const [, id, stop] = /^\/api\/jobs\/([^/]*)(\/stop)?$/.exec(request.url ?? "") ?? [];
    if (id === undefined) {
      await this.#delay("upload");
      return end({});
    }
    if (request.method === "POST" && !stop) {
      await this.#delay("submission");
      this.jobs.push({ ...JSON.parse(body), status: "RUNNING" });
      return end({});
    }
    if (id === "") {
      this.lists++;
      const listed = JSON.stringify(this.jobs);
      await this.#delay("list");
      return reply.end(listed);
    }
    const found = this.jobs.find((one) => one.submission_id === id);
    if (found && stop) found.status = "STOPPED";
    return end(found ?? {}, found ? 200 : 404);
  });

  static async start(): Promise<StubRay> {
    const ray = new StubRay();
    await new Promise<void>((resolve) => ray.#server.listen(0, "127.0.0.1", resolve));
    return ray;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): Promise<unknown> {
    return new Promise((resolve) => this.#server.close(resolve));
  }

  /** A job of Ray that a run of a job has started. */
  add(run: string, url: string, job = "j", joust_version = "0.0.0"): SubmittedJob {
    const metadata = { joust_url: url, joust_version };
    const added = { submission_id: `joust-${job}-${run}`, status: "RUNNING", metadata };
    this.jobs.push(added);
    return added;
  }

  /** The reply to the next request of this kind waits for `release`. */
  hold(request: HeldRequest): Hold {
    let arrive = () => {};
    let release = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const hold = { arrived, released, arrive, release };
    this.#holds.set(request, hold);
    return hold;
  }

  async #delay(request: HeldRequest): Promise<void> {
    const hold = this.#holds.get(request);
    if (!hold) return;
    this.#holds.delete(request);
    hold.arrive();
    await hold.released;
  }
}

export const raySettings = (address: string, serverUrl: string): RaySettings => ({
  address,
  serverUrl,
  runsFunctions: true,
  minBytes: 0,
  cpus: 1,
  gpus: 0,
  limits: {} as FunctionLimits,
});

/** Starts a run whose work has no order, or has one at once. Returns what ends it. */
export function startRun(executor: Executor, id: string, isOrdered: boolean): () => Promise<void> {
  const ended = new AbortController();
  const work = new RemoteWork(0);
  if (isOrdered) work.ordered = async () => true;
  const job = { id, work, location: "/t.lance", storageOptions: {} };
  const running = executor.run(job, ended.signal);
  return async () => {
    ended.abort();
    await running;
  };
}
