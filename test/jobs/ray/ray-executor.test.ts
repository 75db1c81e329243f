/** Runs of a job that overlap. test/clients/ray has a real cluster. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { StoredWorkerKeys } from "../../../src/auth/worker-keys.js";
import { RemoteWork, versions } from "../../../src/engine/index.js";
import { RayExecutor, type RayExecutorDependencies } from "../../../src/jobs/ray/ray-executor.js";
import { type OpenCatalog, openCatalog } from "../../../src/server/open-catalog.js";
import { createLogger } from "../../../src/telemetry/logger.js";
import { startStubSts } from "../../harness/stub-sts.js";
import { tempDir } from "../../harness/temp.js";
import { waitFor } from "../../harness/wait-for.js";
import { raySettings, StubRay, startRun } from "./stub-ray.js";

const OWN = "http://10.0.0.1:2333";
const OTHER = "http://10.0.0.2:2333";

let ray: StubRay;
let store: OpenCatalog;
let keys: StoredWorkerKeys;
let dependencies: RayExecutorDependencies;
let executor: RayExecutor;

beforeEach(async () => {
  ray = await StubRay.start();
  const root = tempDir("ray-executor");
  const log = createLogger("silent");
  store = await openCatalog({ root, url: `${root}/c.db`, log, role: "tool" });
  keys = new StoredWorkerKeys(store.keys, { lockOwned: async () => true });
  const settings = raySettings(ray.address, OWN);
  const jobs = { ownedJobs: async () => new Set(["j"]) };
  dependencies = { settings, keys, jobs, catalog: store.catalog, log };
  executor = new RayExecutor(dependencies);
});

afterEach(async () => {
  await ray.stop();
  await store.close();
});

const start = (isOrdered = false) => startRun(executor, "j", isOrdered);

/** A key for the workers of the job. */
async function issue(): Promise<string> {
  const issued = await keys.issue("j");
  if (!issued) throw new Error("no key was issued");
  return issued.token;
}

it("a run that needs no workers ends those of an earlier run", async () => {
  const former = ray.add("1", OWN);
  const token = await issue();
  await start()();
  await waitFor("the stop", async () => former.status === "STOPPED");
  expect(await keys.isOf("j", token)).toBe(false);
});

it("a run that lost its job leaves the workers of the server that took it over", async () => {
  const former = ray.add("1", OWN);
  await issue();
  const read = vi.spyOn(keys, "idOf");
  const end = start();
  await read.mock.results[0]?.value;
  const other = ray.add("2", OTHER);
  const token = await issue();
  await end();
  await waitFor("the stop", async () => former.status === "STOPPED");
  expect(other.status).toBe("RUNNING");
  expect(await keys.isOf("j", token)).toBe(true);
});

it("a run leaves the workers of the server whose job it took over, if that continues", async () => {
  const former = ray.add("1", OWN);
  const other = ray.add("2", OTHER);
  const token = await issue();
  await start()();
  await waitFor("the stop", async () => former.status === "STOPPED");
  expect(other.status).toBe("RUNNING");
  expect(await keys.isOf("j", token)).toBe(true);
});

it("a run waits until the workers of the run before it have ended", async () => {
  const former = ray.add("1", OWN);
  await issue();
  const list = ray.hold("list");
  await start()();
  const end = start(true);
  await list.arrived;
  expect(ray.lists).toBe(1);
  list.release();
  await waitFor("the submission", async () => ray.jobs.length === 2);
  expect(ray.jobs.map(({ status }) => status)).toEqual(["STOPPED", "RUNNING"]);
  expect(former.status).toBe("STOPPED");
  await end();
});

it("an order has temporary credentials, and so has the reply to a worker that knows it", async () => {
  const sts = await startStubSts({ id: "temporary", secret: "secret", token: "token" });
  const vending = {
    role: "arn:aws:iam::1:role/workers",
    endpoint: sts.url,
    lifetimeMs: 3_600_000,
  };
  const settings = { ...dependencies.settings, vending };
  executor = new RayExecutor({ ...dependencies, settings });
  const location = "s3://bucket/t.lance";
  const work = new RemoteWork(0);
  work.ordered = async () => true;
  work.orderNumber = () => 1;
  work.order = () => ({ number: 1, text: JSON.stringify({ location, tasks: [] }) });
  const ended = new AbortController();
  const long = { aws_access_key_id: "long-lived", aws_secret_access_key: "long-lived" };
  const storageOptions = { aws_region: "eu-west-1", ...long };
  const running = executor.run({ id: "j", work, location, storageOptions }, ended.signal);
  await waitFor("the submission", async () => ray.jobs.length === 1);
  const submitted = JSON.stringify(ray.jobs);
  const token = /"JOUST_TOKEN":"([^"]+)"/.exec(submitted)?.[1] as string;
  const { engine, lance } = versions();
  const replacement = `joust_${"r".repeat(43)}`;
  await executor.claim("j", token, { versions: { joust_worker: engine, lance }, replacement });

  const first = await executor.order("j", replacement, "");
  const storage_options = {
    aws_region: "eu-west-1",
    aws_access_key_id: "temporary",
    aws_secret_access_key: "secret",
    aws_session_token: "token",
  };
  expect(first.order).toMatchObject({ location, storage_options });
  const { order_id = "" } = first;
  expect(await executor.order("j", replacement, order_id)).toEqual({ order_id, storage_options });
  expect(sts.assumed).toHaveLength(1);
  // Every user who can see the jobs of Ray can see the submission.
  expect(submitted).not.toMatch(/temporary|long-lived/);
  ended.abort();
  await running;
  sts.close();
});
