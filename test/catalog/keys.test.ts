import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { waitFor } from "../harness/wait-for.js";
import { describeOnEachDatabase } from "./catalog-databases.js";

const newHash = () => createHash("sha256").update(randomBytes(32)).digest();
const hex = (hash: Buffer) => hash.toString("hex");

describe("API keys", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    it("can be found by hash, listed and revoked", async () => {
      const { keys } = await newCatalog().open();
      expect(await keys.list()).toEqual([]);
      const hash = newHash();
      const key = await keys.create({ name: "ci", role: "write", hash });
      expect(key).toMatchObject({ name: "ci", role: "write", hash });
      expect(await keys.findByHash(hex(hash))).toEqual(key);
      expect(await keys.findByHash(hex(newHash()))).toBeUndefined();
      expect(await keys.list()).toEqual([key]);
      expect(await keys.list()).toHaveLength(1);
      expect(await keys.revoke(key.id)).toBe(true);
      expect(await keys.revoke(key.id)).toBe(false);
      expect(await keys.findByHash(hex(hash))).toBeUndefined();
    });

    it("expire, and keep that time in listings", async () => {
      const { keys } = await newCatalog().open();
      const hash = newHash();
      const key = await keys.create({ name: "ci", role: "none", hash, lifetimeMs: 60_000 });
      expect((key.expiresMillis ?? 0) - key.createdMillis).toBe(60_000);
      expect(await keys.findByHash(hex(hash))).toEqual(key);
      expect(await keys.list()).toEqual([key]);
    });

    it("keep their id in a rotation, and the former key is valid for the overlap", async () => {
      const { keys } = await newCatalog().open();
      const [first, second, third] = [newHash(), newHash(), newHash()];
      const key = await keys.create({ name: "ci", role: "write", hash: first });
      const renewed = await keys.rotate(key.id, { hash: second, overlapMs: 60_000 });
      expect(renewed).toMatchObject({ id: key.id, name: "ci", role: "write", hash: second });
      expect(renewed?.expiresMillis).toBeUndefined();
      const former = await keys.findByHash(hex(first));
      expect(former).toMatchObject({ id: key.id, name: "ci", role: "write", hash: first });
      expect(former?.expiresMillis).toBe((renewed?.issuedMillis ?? 0) + 60_000);
      expect(await keys.findByHash(hex(second))).toEqual(renewed);
      expect(await keys.list()).toEqual([renewed]);

      // A second rotation shortens the overlap of every former key.
      const last = await keys.rotate(key.id, { hash: third, overlapMs: 1_000 });
      const ends = await Promise.all([first, second].map((hash) => keys.findByHash(hex(hash))));
      for (const one of ends) expect(one?.expiresMillis).toBe((last?.issuedMillis ?? 0) + 1_000);
    });

    it("are invalid at once after a rotation without an overlap", async () => {
      const { keys } = await newCatalog().open();
      const [first, second] = [newHash(), newHash()];
      const { id } = await keys.create({ name: "leaked", role: "read", hash: first });
      await keys.rotate(id, { hash: second, overlapMs: 0 });
      expect(await keys.findByHash(hex(first))).toBeUndefined();
      expect(await keys.findByHash(hex(second))).toMatchObject({ id });
    });

    it("have the lifetime of the former key after a rotation, unless another one is given", async () => {
      const { keys } = await newCatalog().open();
      const day = 24 * 3_600_000;
      const { id } = await keys.create({
        name: "a",
        role: "read",
        hash: newHash(),
        lifetimeMs: 90 * day,
      });
      const lifetime = async (lifetimeMs?: number) => {
        const key = await keys.rotate(id, { hash: newHash(), overlapMs: 0, lifetimeMs });
        return (key?.expiresMillis ?? 0) - (key?.issuedMillis ?? 0);
      };
      expect(await lifetime()).toBe(90 * day);
      expect(await lifetime(7 * day)).toBe(7 * day);
      expect(await lifetime()).toBe(7 * day);
    });

    it("never stay valid longer because of a rotation", async () => {
      const { keys } = await newCatalog().open();
      const [first, second] = [newHash(), newHash()];
      const key = await keys.create({ name: "a", role: "read", hash: first, lifetimeMs: 60_000 });
      await keys.rotate(key.id, { hash: second, overlapMs: 3_600_000 });
      expect((await keys.findByHash(hex(first)))?.expiresMillis).toBe(key.expiresMillis);
    });

    it("cannot be rotated if they do not exist or if the new key exists", async () => {
      const { keys } = await newCatalog().open();
      const hash = newHash();
      const { id } = await keys.create({ name: "a", role: "read", hash });
      expect(await keys.rotate("missing", { hash: newHash(), overlapMs: 0 })).toBeUndefined();
      const other = newHash();
      await keys.create({ name: "b", role: "read", hash: other });
      await expect(keys.rotate(id, { hash: other, overlapMs: 0 })).rejects.toMatchObject({
        code: 13,
      });
      expect(await keys.findByHash(hex(hash))).toMatchObject({ id });
    });

    it("lose all their former keys when they are revoked", async () => {
      const { keys } = await newCatalog().open();
      const [first, second] = [newHash(), newHash()];
      const { id } = await keys.create({ name: "a", role: "read", hash: first });
      await keys.rotate(id, { hash: second, overlapMs: 60_000 });
      expect(await keys.revoke(id)).toBe(true);
      expect(await keys.findByHash(hex(first))).toBeUndefined();
      expect(await keys.findByHash(hex(second))).toBeUndefined();
    });

    it("record their last use", async () => {
      const { keys } = await newCatalog().open();
      const used = await keys.create({ name: "used", role: "read", hash: newHash() });
      await keys.create({ name: "unused", role: "read", hash: newHash() });
      await keys.recordUses([used.id, "missing"]);
      // Keys of one millisecond have no order.
      const lastUse = new Map((await keys.list()).map((key) => [key.name, key.lastUsedMillis]));
      expect(lastUse.get("used")).toBeGreaterThanOrEqual(used.createdMillis);
      expect(lastUse.get("unused")).toBeUndefined();
      await keys.recordUses([]);
    });

    it("are unique", async () => {
      const { keys } = await newCatalog().open();
      const hash = newHash();
      await keys.create({ name: "a", role: "read", hash });
      await expect(keys.create({ name: "b", role: "admin", hash })).rejects.toMatchObject({
        code: 13,
      });
    });

    it("that another process creates or revokes take effect on a server after the greatest age of an answer", async () => {
      const open = newCatalog();
      const server = await open.open();
      const tool = await open.open("tool");
      const hash = newHash();
      // secure.md promises a second with Postgres, and "at once" with SQLite.
      const greatestAge = kind === "sqlite" ? 1 : 1_000;
      // The test moves the clock that the ages are measured with, so no machine is too slow for it.
      vi.useFakeTimers({ toFake: ["performance"] });
      try {
        expect(await server.keys.findByHash(hex(hash))).toBeUndefined();
        const key = await tool.keys.create({ name: "a", role: "read", hash });
        vi.advanceTimersByTime(greatestAge);
        expect(await server.keys.findByHash(hex(hash))).toEqual(key);
        expect(server.keys.findByHashSync(hex(hash))).toEqual(key);
        await tool.keys.revoke(key.id);
        vi.advanceTimersByTime(greatestAge);
        expect(await server.keys.findByHash(hex(hash))).toBeUndefined();
      } finally {
        vi.useRealTimers();
      }
    });

    it.runIf(kind === "postgres")(
      "are no longer valid after a second if the catalog does not answer",
      async () => {
        const server = await newCatalog().open();
        const hash = newHash();
        vi.useFakeTimers({ toFake: ["performance"] });
        try {
          const key = await server.keys.create({ name: "a", role: "read", hash });
          await server.close();
          vi.advanceTimersByTime(999);
          expect(await server.keys.findByHash(hex(hash))).toEqual(key);
          vi.advanceTimersByTime(1);
          await expect(server.keys.findByHash(hex(hash))).rejects.toThrow();
        } finally {
          vi.useRealTimers();
        }
      },
    );

    it("that do not exist cost no query for a while, and new keys are accepted soon after creation", async () => {
      const open = newCatalog();
      const server = await open.open();
      const tool = await open.open("tool");
      const hashes = Array.from({ length: 2_500 }, newHash);
      const [own, other] = [hashes[7] as Buffer, hashes[9] as Buffer];
      const began = performance.now();
      for (let round = 0; round < 3; round++) {
        const isKnown = await Promise.all(hashes.map((hash) => server.keys.findByHash(hex(hash))));
        expect(isKnown.every((key) => key === undefined)).toBe(true);
      }
      // The negative results are cached: no query runs.
      if (performance.now() - began < 900) {
        expect(hashes.map((hash) => server.keys.findByHashSync(hex(hash)))).toEqual(
          hashes.map(() => null),
        );
      }
      const key = await server.keys.create({ name: "own", role: "read", hash: own });
      expect(await server.keys.findByHash(hex(own))).toEqual(key);
      await tool.keys.create({ name: "other", role: "read", hash: other });
      const known = async () => (await server.keys.findByHash(hex(other))) !== undefined;
      await waitFor("the other's key is known", known, { timeoutMs: 2_000 });
    });
  });
});
