import { createHash } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFirstKey } from "../../src/auth/first-key.js";
import { hashKey, looksLikeKey, newKey } from "../../src/auth/key.js";
import { allows } from "../../src/auth/roles.js";
import { StoredWorkerKeys } from "../../src/auth/worker-keys.js";
import { openCatalog } from "../../src/server/open-catalog.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { tempDir } from "../harness/temp.js";

describe("an API key", () => {
  it("has 32 random bytes and a recognizable form", () => {
    const key = newKey();
    expect(key).toMatch(/^joust_[A-Za-z0-9_-]{43}$/);
    expect(newKey()).not.toBe(key);
    expect(looksLikeKey(key)).toBe(true);
    expect(looksLikeKey(`${key}=`)).toBe(false);
    expect(looksLikeKey(key.replace("joust_", "other_"))).toBe(false);
  });

  it("is stored as its SHA-256", () => {
    expect(hashKey("abc")).toEqual(createHash("sha256").update("abc").digest());
  });

  it("is created in a file that only its user can read if there is no key yet", async () => {
    const root = tempDir("first-key");
    const log = createLogger("silent");
    const store = await openCatalog({ root, url: `${root}/c.db`, log, role: "tool" });
    const file = join(root, "made", "admin-key");
    expect(await createFirstKey(store.keys, file)).toBe(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(root, "made")).mode & 0o777).toBe(0o700);
    const key = readFileSync(file, "utf8");
    expect(key).toMatch(/^joust_[\w-]{43}\n$/);
    const record = await store.keys.findByHash(hashKey(key.trim()).toString("hex"));
    expect(record).toMatchObject({ name: "admin", role: "admin" });
    expect(await createFirstKey(store.keys, file)).toBeUndefined();
    expect(readFileSync(file, "utf8")).toBe(key);
    await store.close();
  });

  it("is created if the only keys are those of workers", async () => {
    const root = tempDir("first-key");
    const log = createLogger("silent");
    const store = await openCatalog({ root, url: `${root}/c.db`, log, role: "tool" });
    await new StoredWorkerKeys(store.keys, { lockOwned: async () => true }).issue("a");
    const file = join(root, "admin-key");
    expect(await createFirstKey(store.keys, file)).toBe(file);
    await store.close();
  });

  it("never replaces an existing file, and is not created if the file cannot be written", async () => {
    const root = tempDir("first-key");
    const log = createLogger("silent");
    const store = await openCatalog({ root, url: `${root}/c.db`, log, role: "tool" });
    const file = join(root, "admin-key");
    writeFileSync(file, "of another server");
    await expect(createFirstKey(store.keys, join(file, "below"))).rejects.toThrow(/EEXIST|ENOTDIR/);
    expect(await store.keys.list()).toEqual([]);
    expect(await createFirstKey(store.keys, file)).toBe(`${file}-2`);
    expect(readFileSync(file, "utf8")).toBe("of another server");
    const key = readFileSync(`${file}-2`, "utf8").trim();
    const found = await store.keys.findByHash(hashKey(key).toString("hex"));
    expect(found).toMatchObject({ role: "admin" });
    await store.close();
  });
});

describe("a role", () => {
  it("includes all lower roles", () => {
    expect(allows("write", "read")).toBe(true);
    expect(allows("write", "write")).toBe(true);
    expect(allows("write", "admin")).toBe(false);
    expect(allows("admin", "admin")).toBe(true);
    expect(allows("read", "write")).toBe(false);
  });
});
