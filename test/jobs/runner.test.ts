import { describe, expect, it, vi } from "vitest";
import type { JobRecord, JobRequest, Jobs } from "../../src/jobs/jobs.js";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { describeOnEachDatabase, makeTable } from "../catalog/catalog-databases.js";
import { waitFor } from "../harness/wait-for.js";
import { rowErrors, settled, setUpJobs, start, Work, waitForState } from "./test-jobs.js";

describe("a job", () => {
  describeOnEachDatabase((newCatalog) => {
    it("runs to its end", async () => {
      const { store, table, request } = await setUpJobs(newCatalog);
      const jobs = start(store);
      const job = await jobs.enqueue(request("quick"));
      expect(job).toMatchObject({ kind: "test", table: table.key, name: "i", state: "QUEUED" });
      const done = await waitForState(jobs, job.id, "DONE");
      expect(done.error).toBeUndefined();
      expect(await jobs.list(table.key)).toEqual([done]);
      await expect(jobs.describe("none")).rejects.toMatchObject({ code: 10 });
      await expect(jobs.cancel("none")).rejects.toMatchObject({ code: 10 });
    });

    it("that fails keeps a reason that is safe for clients", async () => {
      const { store, request } = await setUpJobs(newCatalog);
      const jobs = start(store);
      const reported = await jobs.enqueue(request("fail", "a"));
      const hidden = await jobs.enqueue(request("crash", "b"));
      expect((await waitForState(jobs, reported.id, "FAILED")).error).toEqual({
        code: 12,
        message: 'column "x" does not exist',
      });
      const { error } = await waitForState(jobs, hidden.id, "FAILED");
      expect(error?.code).toBe(18);
      expect(error?.message).not.toContain("/secret");
      const again = await jobs.enqueue(request("quick", "a"));
      await waitForState(jobs, again.id, "DONE");
      const states = (await jobs.list(reported.table)).map(({ name, state }) => [name, state]);
      expect(states).toEqual([
        ["b", "FAILED"],
        ["a", "DONE"],
      ]);
    });

    it("keeps its result and its failed rows", async () => {
      const { store, table, request } = await setUpJobs(newCatalog);
      const jobs = start(store);
      const quick = await jobs.enqueue(request("quick", "a"));
      const reported = await jobs.enqueue(request("tell", "b"));
      expect((await waitForState(jobs, quick.id, "DONE")).result).toBeUndefined();
      const done = await waitForState(jobs, reported.id, "DONE");
      expect(done.result).toEqual({ rows: 3 });
      expect(await jobs.errors(table.key)).toEqual([{ job: done, ...rowErrors }]);
      expect(await jobs.errors(table.key, reported.id)).toHaveLength(1);
      expect(await jobs.errors(table.key, quick.id)).toEqual([]);
      expect(await jobs.errors("other")).toEqual([]);
    });

    it("is shared by equal requests with the same name, and a different request with that name is rejected", async () => {
      const { store, request } = await setUpJobs(newCatalog);
      const work = new Work();
      const jobs = start(store, work);
      const same = await Promise.all(
        Array.from({ length: 20 }, () => jobs.enqueue(request("wait"))),
      );
      expect(new Set(same.map((job) => job.id)).size).toBe(1);
      await expect(jobs.enqueue(request("wait differently"))).rejects.toMatchObject({
        code: 7,
        message: expect.stringContaining('"i" is the name of another active job'),
      });
      await waitFor("it runs", () => work.active.size === 1);
      work.finish("t:wait");
      await waitForState(jobs, (same[0] as JobRecord).id, "DONE");
      const next = await jobs.enqueue(request("wait"));
      expect(next.id).not.toBe(same[0]?.id);
    });

    it("is listed only if it is the newest of its name", async () => {
      const { store, table, request } = await setUpJobs(newCatalog);
      const jobs = start(store);
      const newest: JobRecord[] = [];
      for (const name of ["b", "a", "b", "c", "a"]) {
        const { id } = await jobs.enqueue(request("quick", name));
        newest.push(await waitForState(jobs, id, "DONE"));
      }
      expect(await jobs.list(table.key)).toEqual(newest.slice(2));
      expect(await jobs.list("other")).toEqual([]);
    });

    it("of automatic maintenance is stored up to a number per name", async () => {
      const { store, table, request } = await setUpJobs(newCatalog);
      const jobs = start(store);
      const quick = async (name: string, more: Pick<JobRequest, "keepEnded"> = {}) => {
        const { id } = await jobs.enqueue({ ...request("quick", name), ...more });
        return waitForState(jobs, id, "DONE");
      };
      const other = await quick("other");
      const recorded = await quick("automatic");
      await store.transactions.record({ properties: {}, job: recorded.id });
      const automatic: JobRecord[] = [];
      for (let n = 0; n < 6; n++) automatic.push(await quick("automatic", { keepEnded: 3 }));
      const { items } = await jobs.listAll({});
      // Jobs that ended before the last one was queued count.
      const expected = [other, recorded, ...automatic.slice(-4)].map(({ id }) => id).reverse();
      expect(items.map(({ job }) => job.id)).toEqual(expected);
      expect((await jobs.list(table.key)).map(({ id }) => id)).toEqual([other.id, expected[0]]);
    });

    it("runs alone on its table, and two run at the same time in total", async () => {
      const { store, table, request } = await setUpJobs(newCatalog);
      const others = [await makeTable(store, ["u"]), await makeTable(store, ["v"])];
      const work = new Work();
      const jobs = start(store, work);
      await jobs.enqueue(request("wait1", "a"));
      await jobs.enqueue(request("wait2", "b"));
      for (const other of others) await jobs.enqueue(request("wait", "a", other.key));
      await waitFor("two run", () => work.active.size === 2);
      await settled();
      // The order of the two is not defined.
      expect([...work.active.keys()].sort()).toEqual(["t:wait1", "u:wait"]);
      work.finish("t:wait1");
      await waitFor("the table's next job runs", () => work.active.has("t:wait2"));
      work.finish("u:wait");
      await waitFor("the last one runs", () => work.active.has("v:wait"));
      for (const id of ["t:wait2", "v:wait"]) work.finish(id);
      await waitFor("all are done", async () =>
        (await jobs.list(table.key)).every((job) => job.state === "DONE"),
      );
      expect(work.mostActive).toBe(2);
    });

    it("runs beside a version clean-up of its table, and clean-ups run one at a time", async () => {
      const open = newCatalog();
      const [store, other] = [await open.open(), await open.open()];
      const { key } = await makeTable(store, ["t"]);
      const kinds = ["clean_up", "compaction", "maintenance"];
      for (const name of ["first", "second"]) {
        for (const kind of kinds) {
          await store.jobs.enqueue({ kind, table: key, name: `${name} ${kind}`, spec: "{}" });
        }
      }
      const claimed = async (by: OpenCatalog, busy: { table: string; kind: string }[] = []) =>
        (await by.jobs.claim(busy))?.name;
      const ended = (name: string) => store.jobs.cancel({ table: key, name });
      expect(await claimed(store)).toBe("first clean_up");
      expect(await claimed(other)).toBe("first compaction");
      expect(await claimed(store)).toBeUndefined();
      await ended("first compaction");
      expect(await claimed(store, [{ table: key, kind: "compaction" }])).toBeUndefined();
      expect(await claimed(store)).toBe("first maintenance");
      await ended("first clean_up");
      expect(await claimed(other, [{ table: key, kind: "clean_up" }])).toBeUndefined();
      expect(await claimed(other, [{ table: key, kind: "compaction" }])).toBe("second clean_up");
    });

    it("follows its table through a rename", async () => {
      const { store, request } = await setUpJobs(newCatalog);
      const work = new Work();
      const jobs = start(store, work);
      await jobs.enqueue(request("wait", "a"));
      await waitFor("it runs", () => work.active.size === 1);
      const second = await jobs.enqueue(request("quick", "b"));
      await store.catalog.renameTable(["t"], ["new"]);
      work.finish("t:wait");
      await waitForState(jobs, second.id, "DONE");
      expect(work.ran).toEqual(["t:wait", "new:quick"]);
    });

    it("reports its progress", async () => {
      const { store, request } = await setUpJobs(newCatalog);
      const work = new Work();
      work.progress = Array.from({ length: 100 }, (_, i) => ({
        stage: "train",
        completed: i,
        total: 100,
      }));
      const jobs = start(store, work);
      const job = await jobs.enqueue(request("wait"));
      const last = await waitFor("the last report is stored", async () => {
        const { progress } = await jobs.describe(job.id);
        return progress?.completed === 99 && progress;
      });
      expect(last).toEqual({ stage: "train", completed: 99, total: 100 });
    });

    it("continues after a restart, also after a kill", async () => {
      const { test, store, request } = await setUpJobs(newCatalog);
      const work = new Work();
      const jobs = start(store, work);
      const job = await jobs.enqueue(request("wait"));
      await waitFor("it runs", () => work.active.size === 1);
      await jobs.stop();
      expect((await store.jobs.find(job.id))?.state).toBe("QUEUED");
      await store.close();

      const second = await test.open();
      // Claimed and not ended, as a killed server leaves it.
      expect((await second.jobs.claim([]))?.id).toBe(job.id);
      await second.close();

      const third = await test.open();
      const again = new Work();
      start(third, again);
      await waitFor("it runs again", () => again.active.size === 1);
      again.finish("t:wait");
      await waitFor("it is done", async () => (await third.jobs.find(job.id))?.state === "DONE");
    });

    it("runs after the reply to its claim was lost, and so does the next job of its table", async () => {
      const { store, request } = await setUpJobs(newCatalog);
      const { jobs: queue } = store;
      const claim = queue.claim.bind(queue);
      let lostReplies = 0;
      vi.spyOn(queue, "claim").mockImplementation(async (...busy) => {
        const job = await claim(...busy);
        if (job && lostReplies++ === 0) throw new Error("the connection ended after the commit");
        return job;
      });
      const work = new Work();
      const jobs = start(store, work);
      const first = await jobs.enqueue(request("quick", "a"));
      const second = await jobs.enqueue(request("tell", "b"));
      await waitForState(jobs, first.id, "DONE");
      await waitForState(jobs, second.id, "DONE");
      expect(lostReplies).toBe(3);
      expect(work.ran).toEqual(["t:quick", "t:tell"]);
    });

    it("that stops the server three times fails", async () => {
      const { test, store, request } = await setUpJobs(newCatalog);
      const job = await store.jobs.enqueue(request("quick"));
      await store.close();
      for (let attempt = 1; attempt <= 3; attempt++) {
        const crashing = await test.open();
        await crashing.jobs.recover();
        expect((await crashing.jobs.claim([]))?.id).toBe(job.id);
        await crashing.close();
      }
      const last = await test.open();
      await last.jobs.recover();
      expect(await last.jobs.claim([])).toBeUndefined();
      expect((await last.jobs.find(job.id))?.error).toEqual({
        code: 18,
        message: "the server stopped 3 times while this job ran",
      });
    });

    it("runs once although several servers share the queue", async () => {
      const { test, store, request } = await setUpJobs(newCatalog);
      const keys: string[] = [];
      for (let i = 0; i < 30; i++) keys.push((await makeTable(store, [`t${i}`])).key);
      const works = [new Work(), new Work(), new Work()];
      const servers = [store, await test.open(), await test.open()];
      const runners = servers.map((server, i) => start(server, works[i] as Work));
      const queued = await Promise.all(
        keys.flatMap((key, i) =>
          ["a", "b"].map((name) => (runners[i % 3] as Jobs).enqueue(request("quick", name, key))),
        ),
      );
      for (const job of queued) await waitForState(runners[0] as Jobs, job.id, "DONE");
      const ran = works.flatMap((work) => work.ran);
      expect(ran).toHaveLength(60);
      expect(new Set(ran).size).toBe(30);
    });
  });
});
