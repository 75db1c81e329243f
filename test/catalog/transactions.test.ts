import type { Kysely } from "kysely";
import { afterEach, expect, it, vi } from "vitest";
import { openPostgres } from "../../src/database/postgres/open.js";
import type { CatalogSchema } from "../../src/database/schema.js";
import { openSqlite } from "../../src/database/sqlite/open.js";
import { isPostgres } from "../../src/foundation/addresses.js";
import { timedId } from "../../src/foundation/timed-id.js";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { describeOnEachDatabase, makeTable, quiet, type TestCatalog } from "./catalog-databases.js";

const DAY = 24 * 3_600_000;

const build = { kind: "index_build", name: "i", spec: "{}" };
const cancel = [{ kind: "status", status: "Canceled" }] as const;
const set = (key: string, value: string, mode: "overwrite" | "fail" | "skip" = "overwrite") =>
  ({ kind: "set", key, value, mode }) as const;

afterEach(() => vi.useRealTimers());

/** Reads the catalog's tables directly. */
async function reading<T>(
  { url }: TestCatalog,
  look: (db: Kysely<CatalogSchema>) => Promise<T>,
): Promise<T> {
  const db = await (isPostgres(url) ? openPostgres(url, quiet) : openSqlite(url));
  return look(db.read).finally(db.close);
}

/** Ids of the stored transactions. */
const stored = (catalog: TestCatalog): Promise<string[]> =>
  reading(catalog, async (db) => {
    const rows = await db.selectFrom("transactions").select("id").execute();
    return rows.map(({ id }) => id);
  });

async function jobOn(store: OpenCatalog) {
  const table = await makeTable(store, ["t"]);
  const job = await store.jobs.enqueue({ ...build, table: table.key });
  await store.transactions.record({ job: job.id, properties: {} });
  return { table, job };
}

describeOnEachDatabase((newCatalog) => {
  it("a finished operation is recorded as a transaction", async () => {
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

  it("a transaction that fits into its id is not stored", async () => {
    const catalog = newCatalog();
    const { transactions } = await catalog.open();
    const ids = await Promise.all([1, 2, 3].map(() => transactions.record({ properties: {} })));
    expect(new Set(ids).size).toBe(3);
    await transactions.describe(ids[0] as string);
    expect(await stored(catalog)).toEqual([]);
  });

  it("a transaction that is too long for its id is stored", async () => {
    const catalog = newCatalog();
    const { transactions } = await catalog.open();
    const properties = { object: "x".repeat(2_000) };
    const id = await transactions.record({ properties });
    expect(await stored(catalog)).toEqual([id]);
    expect(id.length).toBeLessThan(100);
    const record = { id, status: "Succeeded", properties };
    expect(await transactions.describe(id)).toEqual(record);
    expect((await transactions.alter(id, [set("a", "b")])).properties).toEqual({
      ...properties,
      a: "b",
    });
  });

  it("every server of the same catalog can describe a transaction, and no other server can", async () => {
    const catalog = newCatalog();
    const [first, second] = await Promise.all([catalog.open(), catalog.open()]);
    const [a, b] = [first.transactions, second.transactions];
    const ofFirst = await a.record({ properties: { by: "first" } });
    const ofSecond = await b.record({ properties: { by: "second" } });
    expect((await b.describe(ofFirst)).properties).toEqual({ by: "first" });
    expect((await a.describe(ofSecond)).properties).toEqual({ by: "second" });
    await first.close();
    await second.close();
    const next = (await catalog.open()).transactions;
    expect((await next.describe(ofFirst)).properties).toEqual({ by: "first" });
    const tool = (await catalog.open("tool")).transactions;
    const ofTool = await tool.record({ properties: { by: "tool" } });
    expect((await next.describe(ofTool)).properties).toEqual({ by: "tool" });
    const unrelated = await newCatalog().open();
    await expect(unrelated.transactions.describe(ofFirst)).rejects.toMatchObject({ code: 10 });
    await expect(unrelated.transactions.alter(ofFirst, [])).rejects.toMatchObject({ code: 10 });
  });

  it("a transaction is stored for all servers once a property is set on it", async () => {
    const catalog = newCatalog();
    const [a, b] = [(await catalog.open()).transactions, (await catalog.open()).transactions];
    const id = await a.record({ properties: { by: "a" } });
    await expect(a.alter(id, [set("x", "1"), ...cancel])).rejects.toMatchObject({ code: 14 });
    expect(await stored(catalog), "after an alteration that failed").toEqual([]);
    expect((await a.alter(id, [set("x", "1")])).properties).toEqual({ by: "a", x: "1" });
    await b.alter(id, [set("by", "b")]);
    const record = { id, status: "Succeeded", properties: { by: "b", x: "1" } };
    expect([await a.describe(id), await b.describe(id)]).toEqual([record, record]);
    expect(await stored(catalog)).toEqual([id]);
  });

  it("a transaction expires after seven days, and its later properties expire with it", async () => {
    const catalog = newCatalog();
    const { transactions } = await catalog.open();
    const now = Date.now();
    const recordedAt = async (time: number) => {
      vi.useFakeTimers({ toFake: ["Date"], now: time });
      const id = await transactions.record({ properties: {} });
      vi.useRealTimers();
      return id;
    };
    const young = await recordedAt(now - 7 * DAY + 60_000);
    const old = await recordedAt(now - 7 * DAY - 60_000);
    expect(await transactions.alter(young, [set("a", "b")])).toMatchObject({ id: young });
    await expect(transactions.describe(old)).rejects.toMatchObject({ code: 10 });
    await expect(transactions.alter(old, [set("a", "b")])).rejects.toMatchObject({ code: 10 });
    const made = await reading(catalog, (db) =>
      db.selectFrom("transactions").select("created_at").execute(),
    );
    expect(made).toHaveLength(1);
    expect(made[0]?.created_at, "of the record, not of the alteration").toBeLessThan(now - 6 * DAY);
  });

  it("a transaction stored by an earlier version of joust can be read and altered", async () => {
    const catalog = newCatalog();
    const { transactions } = await catalog.open();
    const id = timedId();
    const row = {
      id,
      status: "Succeeded",
      properties: '{"a":"b"}',
      created_at: Date.now(),
    } as const;
    await reading(catalog, (db) => db.insertInto("transactions").values(row).execute());
    const record = { id, status: "Succeeded", properties: { a: "b" } };
    expect(await transactions.describe(id)).toEqual(record);
    expect((await transactions.alter(id, [set("c", "d")])).properties).toEqual({ a: "b", c: "d" });
  });

  it("the transaction of a job has the status of the job and keeps it after the job is deleted", async () => {
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

  it("the transaction of a job keeps its status after the job has expired", async () => {
    const catalog = newCatalog();
    const store = await catalog.open();
    const { jobs, transactions } = store;
    const { job } = await jobOn(store);
    await jobs.claim([]);
    await jobs.failed(job.id, 13, "no such column");
    const expired = { created_at: 0, updated_at: 0 };
    await reading(catalog, (db) => db.updateTable("jobs").set(expired).execute());
    await jobs.recover();
    expect(await jobs.find(job.id)).toBeUndefined();
    expect((await transactions.describe(job.id)).status).toBe("Failed");
    await expect(transactions.alter(job.id, cancel)).rejects.toMatchObject({ code: 14 });
  });

  it("cancelling a transaction cancels its job only while the job has not ended", async () => {
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

  it("an alteration applies all of its actions or none", async () => {
    const store = await newCatalog().open();
    const { transactions, jobs } = store;
    const { job } = await jobOn(store);
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

  it("concurrent alterations on several servers are applied one after another", async () => {
    const catalog = newCatalog();
    const servers = [await catalog.open(), await catalog.open()];
    const id = (await servers[0]?.transactions.record({ properties: {} })) as string;
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        servers[at % 2]?.transactions.alter(id, [set(`k${at}`, "", "fail")]),
      ),
    );
    for (const { transactions } of servers) {
      expect(Object.keys((await transactions.describe(id)).properties)).toHaveLength(20);
    }
  });

  it("the job listing is paged newest first while jobs are added", async () => {
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

  it("a paused job is not claimed", async () => {
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
    // The run ended before the pause took effect.
    await jobs.pause(job.id, true);
    expect(await jobs.done(job.id)).toBe(true);
    expect(await jobs.find(job.id)).toMatchObject({ state: "DONE", paused: false });
    expect(await jobs.pause(job.id, true)).toBe(false);
  });
});
