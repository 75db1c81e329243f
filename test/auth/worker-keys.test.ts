import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { hashKey, newKey } from "../../src/auth/key.js";
import { StoredWorkerKeys } from "../../src/auth/worker-keys.js";
import type { KeyStore } from "../../src/catalog/keys.js";
import { ErrorCode } from "../../src/foundation/errors.js";
import { describeOnEachDatabase, makeTable } from "../catalog/catalog-databases.js";

const DAYS = 24 * 3_600_000;

/** On a server that owns all jobs. */
const workerKeys = (keys: KeyStore) => new StoredWorkerKeys(keys, { lockOwned: async () => true });

async function issue(workers: StoredWorkerKeys, job: string) {
  const issued = await workers.issue(job);
  if (!issued) throw new Error("no key was issued");
  return issued;
}

describe("the keys of workers", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    it("are for one job, and a new one replaces the former ones", async () => {
      const { keys } = await newCatalog().open();
      const workers = workerKeys(keys);
      expect(await workers.idOf("a")).toBeUndefined();
      const { id: formerId, token: first } = await issue(workers, "a");
      expect(await workers.idOf("a")).toBe(formerId);
      expect([await workers.isOf("a", first), await workers.isOf("b", first)]).toEqual([
        true,
        false,
      ]);
      const { id, token: second } = await issue(workers, "a");
      // A server that lost the job to another one does not know the key of that one.
      await workers.revoke(formerId);
      expect([await workers.isOf("a", first), await workers.isOf("a", second)]).toEqual([
        false,
        true,
      ]);
      expect(await keys.list()).toMatchObject([{ role: "none", name: "workers of job a" }]);
      await workers.revoke(id);
      expect(await workers.isOf("a", second)).toBe(false);
      expect(await keys.list()).toEqual([]);
    });

    it("are issued only by the server that owns the job", async () => {
      const catalog = newCatalog();
      const [store, other] = [await catalog.open(), await catalog.open()];
      const [workers, ofOther] = [store, other].map(
        ({ keys, jobs }) => new StoredWorkerKeys(keys, jobs),
      ) as [StoredWorkerKeys, StoredWorkerKeys];
      const { key: table } = await makeTable(store, ["t"]);
      const { id: job } = await store.jobs.enqueue({ kind: "k", table, name: "i", spec: "{}" });
      expect(await workers.issue(job)).toBeUndefined();
      await store.jobs.claim([]);
      const { id, token } = await issue(workers, job);
      expect(await ofOther.issue(job)).toBeUndefined();
      expect(await ofOther.idOf(job)).toBe(id);
      await store.jobs.pause(job, true);
      expect(await workers.issue(job)).toBeUndefined();
      expect(await workers.isOf(job, token)).toBe(true);
    });

    // SQLite has one write transaction at a time.
    it.runIf(kind === "postgres")("are issued before the server can lose the job", async () => {
      const catalog = newCatalog();
      const [store, other] = [await catalog.open(), await catalog.open()];
      const { key: table } = await makeTable(store, ["t"]);
      const { id: job } = await store.jobs.enqueue({ kind: "k", table, name: "i", spec: "{}" });
      await store.jobs.claim([]);
      const ended: string[] = [];
      let paused: Promise<unknown> | undefined;
      const workers = new StoredWorkerKeys(store.keys, {
        lockOwned: async (t, id) => {
          const isOwned = await store.jobs.lockOwned(t, id);
          paused ??= other.jobs.pause(id, true).then(() => ended.push("loss"));
          await delay(200);
          return isOwned;
        },
      });
      await issue(workers, job).then(() => ended.push("issue"));
      await paused;
      expect(ended).toEqual(["issue", "loss"]);
    });

    it("can be replaced by their holder, once", async () => {
      const { keys } = await newCatalog().open();
      const workers = workerKeys(keys);
      const { id, token: first } = await issue(workers, "a");
      const [second, third] = [newKey(), newKey()];
      expect(await workers.replace("b", first, second)).toBe(false);
      expect(await workers.replace("a", first, second)).toBe(true);
      expect(await workers.idOf("a")).toBe(id);
      expect(await workers.replace("a", first, third)).toBe(false);
      expect([await workers.isOf("a", first), await workers.isOf("a", second)]).toEqual([
        false,
        true,
      ]);
    });

    it("are replaced by keys only", async () => {
      const { keys } = await newCatalog().open();
      const workers = workerKeys(keys);
      const { token } = await issue(workers, "a");
      const refused = workers.replace("a", token, "joust_short");
      await expect(refused).rejects.toMatchObject({ code: ErrorCode.InvalidInput });
      expect(await workers.isOf("a", token)).toBe(true);
    });

    it("are invalid after a week", async () => {
      const { keys } = await newCatalog().open();
      const workers = workerKeys(keys);
      const { token } = await issue(workers, "a");
      const now = Date.now();
      vi.spyOn(Date, "now").mockReturnValue(now + 6 * DAYS);
      expect(await workers.isOf("a", token)).toBe(true);
      vi.spyOn(Date, "now").mockReturnValue(now + 8 * DAYS);
      expect(await workers.isOf("a", token)).toBe(false);
      vi.restoreAllMocks();
    });

    it("are removed if their job is not active", async () => {
      const { keys } = await newCatalog().open();
      const workers = workerKeys(keys);
      await issue(workers, "ended");
      const { token } = await issue(workers, "active");
      const user = await keys.create({ name: "user", role: "none", hash: hashKey(newKey()) });
      await workers.revokeInactive(async (job) => job === "active");
      expect(await workers.isOf("active", token)).toBe(true);
      const left = (await keys.list()).map(({ name }) => name);
      expect(left.sort()).toEqual([user.name, "workers of job active"].sort());
    });

    it("do not admit other keys of the same name", async () => {
      const { keys } = await newCatalog().open();
      const workers = workerKeys(keys);
      const { token } = await issue(workers, "a");
      const [key] = await keys.list();
      if (!key) throw new Error("there is no key");
      await keys.revoke(key.id);
      await keys.create({ name: key.name, role: "admin", hash: key.hash });
      expect(await workers.isOf("a", token)).toBe(false);
      expect(await workers.idOf("a")).toBeUndefined();
    });
  });
});
