import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { waitFor } from "../harness/wait-for.js";
import { describeOnEachDatabase } from "./catalog-databases.js";

const newHash = () => createHash("sha256").update(randomBytes(32)).digest();

describe("API keys", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    it("can be found by hash, listed and revoked", async () => {
      const { keys } = await newCatalog().open();
      expect(await keys.count()).toBe(0);
      const hash = newHash();
      const key = await keys.create({ name: "ci", role: "write", hash });
      expect(key).toMatchObject({ name: "ci", role: "write", hash });
      expect(await keys.findByHash(hash)).toEqual(key);
      expect(await keys.findByHash(newHash())).toBeUndefined();
      expect(await keys.list()).toEqual([key]);
      expect(await keys.count()).toBe(1);
      expect(await keys.revoke(key.id)).toBe(true);
      expect(await keys.revoke(key.id)).toBe(false);
      expect(await keys.findByHash(hash)).toBeUndefined();
    });

    it("are unique", async () => {
      const { keys } = await newCatalog().open();
      const hash = newHash();
      await keys.create({ name: "a", role: "read", hash });
      await expect(keys.create({ name: "b", role: "admin", hash })).rejects.toMatchObject({
        code: 13,
      });
    });

    it("take effect on a running server when another process creates or revokes them", async () => {
      const open = newCatalog();
      const server = await open.open();
      const tool = await open.open("tool");
      const hash = newHash();
      expect(await server.keys.findByHash(hash)).toBeUndefined();
      const key = await tool.keys.create({ name: "a", role: "read", hash });
      // A key is cached for a millisecond with SQLite and for a second with Postgres.
      const timeouts = { timeoutMs: kind === "sqlite" ? 100 : 2_000, intervalMs: 2 };
      const isKnown = async () => (await server.keys.findByHash(hash)) !== undefined;
      await waitFor("the key is known", isKnown, timeouts);
      expect(server.keys.findByHashSync(hash)).toEqual(key);
      await tool.keys.revoke(key.id);
      const isRevoked = async () => (await server.keys.findByHash(hash)) === undefined;
      await waitFor("the key is revoked", isRevoked, timeouts);
    });

    it("that do not exist cost no query for a while, and new keys are accepted soon after creation", async () => {
      const open = newCatalog();
      const server = await open.open();
      const tool = await open.open("tool");
      const hashes = Array.from({ length: 2_500 }, newHash);
      const [own, other] = [hashes[7] as Buffer, hashes[9] as Buffer];
      const began = performance.now();
      for (let round = 0; round < 3; round++) {
        const isKnown = await Promise.all(hashes.map((hash) => server.keys.findByHash(hash)));
        expect(isKnown.every((key) => key === undefined)).toBe(true);
      }
      // The negative results are cached: no query runs.
      if (performance.now() - began < 900) {
        expect(hashes.map((hash) => server.keys.findByHashSync(hash))).toEqual(
          hashes.map(() => null),
        );
      }
      const key = await server.keys.create({ name: "own", role: "read", hash: own });
      expect(await server.keys.findByHash(own)).toEqual(key);
      await tool.keys.create({ name: "other", role: "read", hash: other });
      const known = async () => (await server.keys.findByHash(other)) !== undefined;
      await waitFor("the other's key is known", known, { timeoutMs: 2_000 });
    });
  });
});
