import { expect, it } from "vitest";
import type { OpenCatalog } from "../../src/catalog/open.js";
import { makeTable, onEachDatabase } from "./each-database.js";

const build = { kind: "index_build", name: "i", spec: "{}" };
const cancel = [{ kind: "status", status: "Canceled" }] as const;

async function jobOn(store: OpenCatalog) {
  const table = await makeTable(store, ["t"]);
  const job = await store.jobs.enqueue({ ...build, table: table.key });
  await store.transactions.record({ job: job.id, properties: {} });
  return { table, job };
}

onEachDatabase((newCatalog) => {
  it("records work that is done", async () => {
    const { transactions } = await newCatalog().open();
    const id = await transactions.record({ properties: { a: "b" } });
    expect(await transactions.describe(id)).toEqual({
      id,
      status: "Succeeded",
      properties: { a: "b" },
    });
    await expect(transactions.describe("nobody")).rejects.toMatchObject({ code: 10 });
    await expect(transactions.alter("nobody", cancel)).rejects.toMatchObject({ code: 10 });
    await expect(transactions.alter(id, cancel)).rejects.toMatchObject({ code: 14 });
  });

  it("keeps one record for all that one commit did, as long as it is being written", async () => {
    const { transactions } = await newCatalog().open();
    const record = (version: string, commit?: string) =>
      transactions.record({ properties: { version }, ...(commit !== undefined && { commit }) });
    const [first, second, third, alone] = await Promise.all([
      record("1", "t 1"),
      record("1", "t 1"),
      record("2", "t 2"),
      record("1"),
    ]);
    expect(second).toBe(first);
    expect(new Set([first, third, alone]).size).toBe(3);
    expect((await transactions.describe(first)).properties).toEqual({ version: "1" });
    expect((await transactions.describe(third)).properties).toEqual({ version: "2" });
    expect(await record("1", "t 1"), "after it was written").not.toBe(first);
  });

  it("follows a job, and keeps how it ended when the job is forgotten", async () => {
    const store = await newCatalog().open();
    const { transactions, jobs } = store;
    const { table, job } = await jobOn(store);
    const status = async (id: string) => (await transactions.describe(id)).status;
    expect(await status(job.id)).toBe("Queued");
    await jobs.claim([]);
    expect(await status(job.id)).toBe("Running");
    await jobs.failed(job.id, 13, "no such column");
    expect(await transactions.describe(job.id)).toMatchObject({
      status: "Failed",
      properties: { error: "no such column" },
    });
    const second = await jobs.enqueue({ ...build, table: table.key });
    await transactions.record({ job: second.id, properties: {} });
    await jobs.claim([]);
    await jobs.done(second.id);
    await jobs.forget(table.key, "i");
    expect([await status(job.id), await status(second.id)]).toEqual(["Failed", "Succeeded"]);
    const third = await jobs.enqueue({ ...build, table: table.key });
    await transactions.record({ job: third.id, properties: {} });
    await store.catalog.dropTable(["t"]);
    await store.catalog.forgetTable(table.key);
    expect(await status(third.id)).toBe("Canceled");
  });

  it("cancels the job of a transaction, and only one that has not ended", async () => {
    const store = await newCatalog().open();
    const { transactions, jobs } = store;
    const { job } = await jobOn(store);
    await expect(
      transactions.alter(job.id, [{ kind: "status", status: "Succeeded" }]),
    ).rejects.toMatchObject({ code: 14 });
    expect((await transactions.alter(job.id, cancel)).status).toBe("Canceled");
    expect(await jobs.find(job.id)).toMatchObject({ state: "CANCELLED" });
    expect((await transactions.alter(job.id, cancel)).status).toBe("Canceled");
    await expect(
      transactions.alter(job.id, [{ kind: "status", status: "Running" }]),
    ).rejects.toMatchObject({ code: 14 });
  });

  it("applies all actions or none", async () => {
    const store = await newCatalog().open();
    const { transactions, jobs } = store;
    const { job } = await jobOn(store);
    const set = (key: string, value: string, mode: "overwrite" | "fail" | "skip") =>
      ({ kind: "set", key, value, mode }) as const;
    const unset = (key: string, mode: "fail" | "skip") => ({ kind: "unset", key, mode }) as const;
    const { properties } = await transactions.alter(job.id, [
      set("a", "1", "fail"),
      set("a", "2", "skip"),
      set("b", "1", "skip"),
      set("b", "2", "overwrite"),
      set("__proto__", "p", "fail"),
      unset("c", "skip"),
      set("d", "1", "fail"),
      unset("d", "fail"),
    ]);
    expect(Object.entries(properties)).toEqual([
      ["a", "1"],
      ["b", "2"],
      ["__proto__", "p"],
    ]);
    for (const last of [
      set("a", "3", "fail"),
      unset("c", "fail"),
      set("x", "y".repeat(70_000), "skip"),
    ]) {
      await expect(
        transactions.alter(job.id, [set("new", "1", "fail"), ...cancel, last]),
      ).rejects.toMatchObject({ code: 13 });
    }
    expect(await transactions.describe(job.id)).toEqual({
      id: job.id,
      status: "Queued",
      properties,
    });
    expect(await jobs.find(job.id)).toMatchObject({ state: "QUEUED" });
  });

  it("lets alterations at the same time follow one another", async () => {
    const { transactions } = await newCatalog().open();
    const id = await transactions.record({ properties: {} });
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        transactions.alter(id, [{ kind: "set", key: `k${at}`, value: "", mode: "fail" }]),
      ),
    );
    expect(Object.keys((await transactions.describe(id)).properties)).toHaveLength(20);
  });

  it("lists jobs page by page, newest first, while others are queued", async () => {
    const store = await newCatalog().open();
    const { jobs } = store;
    const table = await makeTable(store, ["t"]);
    const queued: string[] = [];
    const add = async () => {
      const job = await jobs.enqueue({ ...build, table: table.key, name: `i${queued.length}` });
      queued.unshift(job.id);
    };
    for (let at = 0; at < 5; at++) await add();
    const wanted = [...queued];
    const seen: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await jobs.listAll({ limit: 2, ...(pageToken && { pageToken }) });
      seen.push(...page.items.map(({ job }) => job.id));
      expect(page.items[0]?.table).toEqual(["t"]);
      pageToken = page.pageToken;
      await add();
    } while (pageToken);
    expect(seen).toEqual(wanted);
    const forged = Buffer.from(JSON.stringify(["jobs", "x", "y"])).toString("base64url");
    for (const token of ["garbage", forged]) {
      await expect(jobs.listAll({ pageToken: token })).rejects.toMatchObject({ code: 13 });
    }
  });

  it("keeps a paused job from being claimed", async () => {
    const store = await newCatalog().open();
    const { jobs } = store;
    const { job } = await jobOn(store);
    await jobs.claim([]);
    expect(await jobs.pause(job.id, true)).toBe(true);
    expect(await jobs.find(job.id)).toMatchObject({ state: "QUEUED", paused: true });
    expect(await jobs.claim([])).toBeUndefined();
    expect(await jobs.failed(job.id, 18, "stopped")).toBe(false);
    await jobs.pause(job.id, false);
    expect(await jobs.done(job.id)).toBe(false);
    expect(await jobs.claim([])).toMatchObject({ id: job.id });
    // The run came to its end all the same.
    await jobs.pause(job.id, true);
    expect(await jobs.done(job.id)).toBe(true);
    expect(await jobs.find(job.id)).toMatchObject({ state: "DONE", paused: false });
    expect(await jobs.pause(job.id, true)).toBe(false);
  });
});
