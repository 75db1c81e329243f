import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { makeFirstKey } from "../../src/auth/first-key.js";
import { hashKey, looksLikeKey, newKey } from "../../src/auth/key.js";
import { allows } from "../../src/auth/roles.js";
import { openCatalog } from "../../src/catalog/open.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { tempDir } from "../harness/temp.js";

describe("a key", () => {
  it("is 32 random bytes that can be told from other texts", () => {
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

  it("is made where there is none", async () => {
    const root = tempDir("first-key");
    const log = createLogger("silent");
    const store = await openCatalog({ root, url: `${root}/c.db`, log, role: "tool" });
    const key = await makeFirstKey(store.keys);
    expect(key).toMatch(/^joust_/);
    const record = await store.keys.findByHash(hashKey(key ?? ""));
    expect(record).toMatchObject({ name: "admin", role: "admin" });
    expect(await makeFirstKey(store.keys)).toBeUndefined();
    await store.close();
  });
});

describe("a role", () => {
  it("includes the ones below it", () => {
    expect(allows("write", "read")).toBe(true);
    expect(allows("write", "write")).toBe(true);
    expect(allows("write", "admin")).toBe(false);
    expect(allows("admin", "admin")).toBe(true);
    expect(allows("read", "write")).toBe(false);
  });
});
