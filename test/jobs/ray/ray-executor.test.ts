/** Runs of a job that overlap. test/clients/ray has a real cluster. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { StoredWorkerKeys } from "../../../src/auth/worker-keys.js";
import type { FunctionLimits } from "../../../src/config/functions.js";
import { RemoteWork } from "../../../src/engine/index.js";
import { RayExecutor } from "../../../src/jobs/ray/ray-executor.js";
import { type OpenCatalog, openCatalog } from "../../../src/server/open-catalog.js";
import { createLogger } from "../../../src/telemetry/logger.js";
import { tempDir } from "../../harness/temp.js";
import { waitFor } from "../../harness/wait-for.js";

const OWN = "http://10.0.0.1:2333";
const OTHER = "http://10.0.0.2:2333";

interface Submitted {
  submission_id: string;
  status: string;
  metadata: Record<string, string>;
}

/** The Jobs API of Ray. */
class FakeRay {
  readonly jobs: Submitted[] = [];
  /** The replies to lists wait for it. */
  gate: Promise<void> = Promise.resolve();
  lists = 0;
  readonly #server: Server = createServer(async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const end = (body: unknown, status = 200) => reply.writeHead(status).end(JSON.stringify(body));
    const [, id, stop] = /^\/api\/jobs\/([^/]*)(\/stop)?$/.exec(request.url ?? "") ?? [];
    if (id === undefined) return end({});
    if (request.method === "POST" && !stop) {
      const submission = JSON.parse(Buffer.concat(chunks).toString());
      this.jobs.push({ ...submission, status: "RUNNING" });
      return end({});
    }
    if (id === "") {
      this.lists++;
      const listed = JSON.stringify(this.jobs);
      await this.gate;
      return reply.end(listed);
    }
    const found = this.jobs.find((one) => one.submission_id === id);
    if (found && stop) found.status = "STOPPED";
    return end(found ?? {}, found ? 200 : 404);
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): Promise<unknown> {
    return new Promise((resolve) => this.#server.close(resolve));
  }

  run(run: string, url: string): Submitted {
    const metadata = { joust_url: url, joust_version: "0.0.0" };
    const job = { submission_id: `joust-j-${run}`, status: "RUNNING", metadata };
    this.jobs.push(job);
    return job;
  }
}

let ray: FakeRay;
let store: OpenCatalog;
let keys: StoredWorkerKeys;
let executor: RayExecutor;

beforeEach(async () => {
  ray = new FakeRay();
  const root = tempDir("ray-executor");
  const log = createLogger("silent");
  store = await openCatalog({ root, url: `${root}/c.db`, log, role: "tool" });
  keys = new StoredWorkerKeys(store.keys);
  const settings = {
    address: await ray.start(),
    serverUrl: OWN,
    runsFunctions: true,
    minBytes: 0,
    cpus: 1,
    gpus: 0,
    limits: {} as FunctionLimits,
  };
  executor = new RayExecutor({ settings, keys, log });
});

afterEach(async () => {
  await ray.stop();
  await store.close();
});

/** Work that has no order, or has one at once. */
function start(isOrdered = false) {
  const ended = new AbortController();
  const work = new RemoteWork(0);
  if (isOrdered) work.ordered = async () => true;
  const running = executor.run({ id: "j", work, storageOptions: {} }, ended.signal);
  return async () => {
    ended.abort();
    await running;
  };
}

it("a run that needs no workers ends those of an earlier run", async () => {
  const former = ray.run("1", OWN);
  const { token } = await keys.issue("j");
  await start()();
  await waitFor("the stop", async () => former.status === "STOPPED");
  expect(await keys.isOf("j", token)).toBe(false);
});

it("a run that lost its job leaves the workers of the server that took it over", async () => {
  const former = ray.run("1", OWN);
  await keys.issue("j");
  const read = vi.spyOn(keys, "idOf");
  const end = start();
  await read.mock.results[0]?.value;
  const other = ray.run("2", OTHER);
  const { token } = await keys.issue("j");
  await end();
  await waitFor("the stop", async () => former.status === "STOPPED");
  expect(other.status).toBe("RUNNING");
  expect(await keys.isOf("j", token)).toBe(true);
});

it("a run leaves the workers of the server whose job it took over, if that continues", async () => {
  const former = ray.run("1", OWN);
  const other = ray.run("2", OTHER);
  const { token } = await keys.issue("j");
  await start()();
  await waitFor("the stop", async () => former.status === "STOPPED");
  expect(other.status).toBe("RUNNING");
  expect(await keys.isOf("j", token)).toBe(true);
});

it("a run waits until the workers of the run before it have ended", async () => {
  const former = ray.run("1", OWN);
  await keys.issue("j");
  let open = () => {};
  ray.gate = new Promise((resolve) => {
    open = resolve;
  });
  await start()();
  const end = start(true);
  await waitFor("the list", async () => ray.lists > 0);
  expect(ray.lists).toBe(1);
  open();
  await waitFor("the submission", async () => ray.jobs.length === 2);
  expect(ray.jobs.map(({ status }) => status)).toEqual(["STOPPED", "RUNNING"]);
  expect(former.status).toBe("STOPPED");
  await end();
});
