import { describe, expect, it, vi } from "vitest";
import type { JobRecord } from "../../src/jobs/jobs.js";
import { describeOnEachDatabase } from "../catalog/catalog-databases.js";
import { waitFor } from "../harness/wait-for.js";
import { settled, setUpJobs, start, Work, waitForState } from "./test-jobs.js";

describe("a job", () => {
  describeOnEachDatabase((newCatalog) => {
    it("can be cancelled while it waits and while it runs", async () => {
      const { store, request } = await setUpJobs(newCatalog);
      const work = new Work();
      const jobs = start(store, work);
      const running = await jobs.enqueue(request("wait", "a"));
      const waiting = await jobs.enqueue(request("quick", "b"));
      await waitFor("it runs", () => work.active.size === 1);
      expect((await jobs.cancel(waiting.id)).state).toBe("CANCELLED");
      expect((await jobs.cancel(running.id)).state).toBe("CANCELLED");
      await waitFor("it has stopped", () => work.active.size === 0);
      expect((await jobs.cancel(running.id)).state).toBe("CANCELLED");
      await settled();
      expect(work.ran).toEqual(["t:wait"]);
      const after = await jobs.enqueue(request("quick", "c"));
      await waitForState(jobs, after.id, "DONE");
    });

    it("is cancelled when its table is dropped", async () => {
      const { store, table, request } = await setUpJobs(newCatalog);
      const work = new Work();
      const jobs = start(store, work);
      const running = await jobs.enqueue(request("wait", "a"));
      const waiting = await jobs.enqueue(request("quick", "b"));
      await waitFor("it runs", () => work.active.size === 1);
      await store.catalog.dropTable(["t"]);
      expect((await jobs.describe(running.id)).state).toBe("CANCELLED");
      expect((await jobs.describe(waiting.id)).state).toBe("CANCELLED");
      expect(await jobs.cancelTable(table.key)).toBe(true);
      expect(work.active.size).toBe(0);
      await store.catalog.forgetTable(table.key);
      expect(await jobs.list(table.key)).toEqual([]);
      await expect(jobs.enqueue(request("quick"))).rejects.toMatchObject({ code: 4 });
    });

    it("that is queued while the jobs of its table are cancelled runs to its end", async () => {
      const { store, table, request } = await setUpJobs(newCatalog);
      const work = new Work();
      const jobs = start(store, work);
      const cancel = store.jobs.cancel.bind(store.jobs);
      vi.spyOn(store.jobs, "cancel").mockImplementationOnce(async (where) => {
        await cancel(where);
        await jobs.enqueue(request("wait"));
        await waitFor("it runs", () => work.active.size === 1);
      });
      await jobs.cancelTable(table.key);
      await waitFor("it runs again", () => work.ran.length === 2 && work.active.size === 1);
      const [job] = await jobs.list(table.key);
      expect(job?.state).toBe("RUNNING");
      work.finish("t:wait");
      await waitForState(jobs, (job as JobRecord).id, "DONE");
    });

    it("is deleted together with what it built", async () => {
      const { store, table, request } = await setUpJobs(newCatalog);
      const jobs = start(store);
      const failed = await jobs.enqueue(request("fail", "a"));
      await waitForState(jobs, failed.id, "FAILED");
      await jobs.enqueue(request("wait", "b"));
      await jobs.discard(table.key, "a");
      expect((await jobs.list(table.key)).map((job) => job.name)).toEqual(["b"]);
      await jobs.discard(table.key, "b");
      expect(await jobs.list(table.key)).toEqual([]);
    });

    it("that ignores its cancellation is reported as running and is not deleted", async () => {
      const { store, table, request } = await setUpJobs(newCatalog);
      const work = new Work();
      work.ignoresCancel = true;
      const jobs = start(store, work, { cancelTimeoutMs: 50 });
      const job = await jobs.enqueue(request("wait"));
      await waitFor("it runs", () => work.active.size === 1);
      expect(await jobs.cancelTable(table.key)).toBe(false);
      expect(await jobs.discard(table.key, "i")).toBe(false);
      expect((await jobs.list(table.key)).map(({ id, state }) => [id, state])).toEqual([
        [job.id, "CANCELLED"],
      ]);
      work.finish("t:wait");
      expect(await jobs.cancelTable(table.key)).toBe(true);
      expect(await jobs.discard(table.key, "i")).toBe(true);
      expect(await jobs.list(table.key)).toEqual([]);
    });

    it("stops if another server cancels it", async () => {
      const { test, store, request } = await setUpJobs(newCatalog);
      const work = new Work();
      const jobs = start(store, work);
      const job = await jobs.enqueue(request("wait"));
      await waitFor("it runs", () => work.active.size === 1);
      const other = start(await test.open());
      await other.cancel(job.id);
      await waitFor("it has stopped", () => work.active.size === 0, { timeoutMs: 5_000 });
    });
  });
});
