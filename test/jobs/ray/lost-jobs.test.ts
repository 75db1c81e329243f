/** Two servers: one has lost its job without notice, and the other one has taken it over. */
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StoredWorkerKeys } from "../../../src/auth/worker-keys.js";
import { openPostgres } from "../../../src/database/postgres/open.js";
import { openSqlite } from "../../../src/database/sqlite/open.js";
import { versions } from "../../../src/engine/index.js";
import { RayExecutor } from "../../../src/jobs/ray/ray-executor.js";
import {
  describeOnEachDatabase,
  makeTable,
  quiet,
  type TestCatalog,
} from "../../catalog/catalog-databases.js";
import { waitFor } from "../../harness/wait-for.js";
import { raySettings, StubRay, startRun } from "./stub-ray.js";

const FORMER = "http://10.0.0.1:2333";
const OWNER = "http://10.0.0.2:2333";

let ray: StubRay;

beforeEach(async () => {
  ray = await StubRay.start();
});
afterEach(() => ray.stop());

async function serve(catalog: TestCatalog, url: string) {
  const store = await catalog.open();
  const { jobs } = store;
  const keys = new StoredWorkerKeys(store.keys, jobs);
  const settings = raySettings(ray.address, url);
  const dependencies = { settings, keys, jobs, catalog: store.catalog, log: quiet };
  return { store, jobs, keys, executor: new RayExecutor(dependencies) };
}

describe("a server that has lost its job without notice", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    /** The job runs on the former server. `takeOver` gives it to the other one. */
    const setUp = async () => {
      const catalog = newCatalog();
      const former = await serve(catalog, FORMER);
      const owner = await serve(catalog, OWNER);
      const { key: table } = await makeTable(former.store, ["t"]);
      const request = { kind: "test", table, name: "i", spec: "{}" };
      const { id: job } = await former.jobs.enqueue(request);
      expect((await former.jobs.claim([]))?.id).toBe(job);
      const takeOver = async () => {
        await endLease(catalog.url, job);
        await owner.jobs.recover();
        expect((await owner.jobs.claim([]))?.id).toBe(job);
      };
      return { former, owner, job, takeOver };
    };

    /** The server of a job is dead for the others. */
    const endLease = async (url: string, job: string) => {
      const db = await (kind === "postgres" ? openPostgres(url, quiet) : openSqlite(url));
      const ownerOf = db.read.selectFrom("jobs").select("owner").where("id", "=", job);
      await db.write((t) => t.deleteFrom("servers").where("id", "=", ownerOf).execute());
      await db.close();
    };

    it("stops no Ray job of the new owner, and starts none", async () => {
      const { former, owner, job, takeOver } = await setUp();
      await takeOver();
      const endOwner = startRun(owner.executor, job, true);
      await waitFor("the submission", () => ray.jobs.length === 1);
      const key = await owner.keys.idOf(job);
      const lists = ray.lists;
      const end = startRun(former.executor, job, true);
      await waitFor("the list", () => ray.lists > lists);
      await end();
      expect(ray.jobs).toMatchObject([{ status: "RUNNING", metadata: { joust_url: OWNER } }]);
      expect(await owner.keys.idOf(job)).toBe(key);
      await endOwner();
    });

    it("leaves the key of the new owner valid if it loses the job before it starts workers", async () => {
      const { former, owner, job, takeOver } = await setUp();
      const upload = ray.hold("upload");
      const end = startRun(former.executor, job, true);
      await upload.arrived;
      await takeOver();
      const endOwner = startRun(owner.executor, job, true);
      await waitFor("the submission", () => ray.jobs.length === 1);
      const key = await owner.keys.idOf(job);
      upload.release();
      await end();
      expect(ray.jobs).toMatchObject([{ status: "RUNNING", metadata: { joust_url: OWNER } }]);
      expect(await owner.keys.idOf(job)).toBe(key);
      await endOwner();
    });

    it.each([
      ["needs workers", true],
      ["needs no workers", false],
    ])("revokes no key that the new owner has just issued if it %s", async (_, isOrdered) => {
      const { former, owner, job, takeOver } = await setUp();
      const earlier = ray.add("1", FORMER, job, versions().engine);
      await takeOver();
      const submission = ray.hold("submission");
      const endOwner = startRun(owner.executor, job, true);
      await submission.arrived;
      const key = await owner.keys.idOf(job);
      expect([key, earlier.status]).toEqual([expect.any(String), "STOPPED"]);
      // Ray shows it as running until its processes have ended.
      earlier.status = "RUNNING";
      const lists = ray.lists;
      const end = startRun(former.executor, job, isOrdered);
      if (isOrdered) await waitFor("the list", () => ray.lists > lists);
      await end();
      // A run ends its workers after it has resolved.
      await delay(200);
      expect(await owner.keys.idOf(job)).toBe(key);
      submission.release();
      await waitFor("the submission", () => ray.jobs.length === 2);
      await endOwner();
    });

    it("ends the workers of its earlier run", async () => {
      const { former, job, owner, takeOver } = await setUp();
      const earlier = ray.add("1", FORMER, job, versions().engine);
      const issued = await former.keys.issue(job);
      const list = ray.hold("list");
      const end = startRun(former.executor, job, true);
      await list.arrived;
      await takeOver();
      list.release();
      await end();
      await waitFor("the stop", () => earlier.status === "STOPPED");
      await waitFor("the revocation", async () => (await owner.keys.idOf(job)) === undefined);
      expect(issued).toBeDefined();
    });
  });
});
