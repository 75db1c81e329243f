import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { eventually } from "../harness/eventually.js";
import { onEachDatabase } from "./each-database.js";

const newHash = () => createHash("sha256").update(randomBytes(32)).digest();

describe("API keys", () => {
  onEachDatabase((newCatalog, kind) => {
    it("are found by their hash, listed and revoked", async () => {
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

    it("exist once", async () => {
      const { keys } = await newCatalog().open();
      const hash = newHash();
      await keys.create({ name: "a", role: "read", hash });
      await expect(keys.create({ name: "b", role: "admin", hash })).rejects.toMatchObject({
        code: 13,
      });
    });

    it("made and revoked by another process count", async () => {
      const open = newCatalog();
      const server = await open.open();
      const tool = await open.open("tool");
      const hash = newHash();
      expect(await server.keys.findByHash(hash)).toBeUndefined();
      const key = await tool.keys.create({ name: "a", role: "read", hash });
      // SQLite is asked once in a millisecond, Postgres remembers a key for a second.
      const soon = { timeoutMs: kind === "sqlite" ? 100 : 2_000, intervalMs: 2 };
      const found = async () => (await server.keys.findByHash(hash)) !== undefined;
      await eventually("the key is known", found, soon);
      expect(server.keys.findByHashSync(hash)).toEqual(key);
      await tool.keys.revoke(key.id);
      const gone = async () => (await server.keys.findByHash(hash)) === undefined;
      await eventually("the key is revoked", gone, soon);
    });
  });
});
