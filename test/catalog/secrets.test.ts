import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { decrypt, encrypt, isEncrypted } from "../../src/database/encrypted-text.js";
import { openPostgres } from "../../src/database/postgres/open.js";
import { secret } from "../../src/database/secret.js";
import { openSqlite } from "../../src/database/sqlite/open.js";
import { runCli } from "../harness/cli.js";
import { startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { describeOnEachDatabase, quiet } from "./catalog-databases.js";

const newKey = () => randomBytes(32);

describe("a secret of the catalog", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    async function openDatabase() {
      const catalog = newCatalog();
      // Creates the tables.
      await catalog.open();
      const { url } = catalog;
      const db = kind === "postgres" ? await openPostgres(url, quiet) : await openSqlite(url);
      onTestFinished(() => db.close());
      const stored = async () =>
        (
          await db.read
            .selectFrom("secrets")
            .select("value")
            .where("name", "=", "s")
            .executeTakeFirstOrThrow()
        ).value;
      return { db, stored };
    }

    it("is the same for all servers, and is encrypted as soon as there is a key", async () => {
      const { db, stored } = await openDatabase();
      const plain = await secret(db, "s");
      expect(await stored()).toBe(plain.toString("hex"));
      const key = newKey();
      expect(await secret(db, "s", [key])).toEqual(plain);
      const encrypted = await stored();
      expect(isEncrypted(encrypted)).toBe(true);
      expect(encrypted).not.toContain(plain.toString("hex"));
      expect(await secret(db, "s", [key])).toEqual(plain);
      expect(await stored()).toBe(encrypted);
    });

    it("is encrypted again by a new key", async () => {
      const { db } = await openDatabase();
      const [former, next] = [newKey(), newKey()];
      const value = await secret(db, "s", [former]);
      expect(await secret(db, "s", [next, former])).toEqual(value);
      expect(await secret(db, "s", [next])).toEqual(value);
      await expect(secret(db, "s", [former])).rejects.toMatchObject({
        code: 17,
        message: /no key of --catalog-key-file/,
      });
      await expect(secret(db, "s")).rejects.toMatchObject({ message: /secrets .* are encrypted/ });
    });

    it("is made once by servers that start at the same time", async () => {
      const { db } = await openDatabase();
      const key = newKey();
      const made = await Promise.all([1, 2, 3].map(() => secret(db, "s", [key])));
      expect(new Set(made.map((value) => value.toString("hex"))).size).toBe(1);
    });
  });

  it("opens with its key and its name only, and unchanged", () => {
    const key = newKey();
    const encrypted = encrypt("text", "name", key);
    expect(decrypt(encrypted, "name", key)).toBe("text");
    expect(decrypt(encrypted, "other", key)).toBeUndefined();
    expect(decrypt(encrypted, "name", newKey())).toBeUndefined();
    const [prefix, body] = encrypted.split(":") as [string, string];
    const bytes = Buffer.from(body, "base64");
    for (let i = 0; i < bytes.length; i += 1) {
      const changed = Buffer.from(bytes);
      changed[i] = bytes.readUInt8(i) ^ 1;
      const stored = `${prefix}:${changed.toString("base64")}`;
      expect(decrypt(stored, "name", key), `byte ${i}`).toBeUndefined();
    }
    expect(decrypt("aes256gcm:", "name", key)).toBeUndefined();
    expect(encrypt("text", "name", key)).not.toBe(encrypted);
  });
});

describe("--catalog-key-file", () => {
  it("is needed by each later server", async () => {
    const dir = tempDir("catalog-key");
    onTestFinished(() => removeDir(dir));
    const file = join(dir, "key");
    writeFileSync(file, `${newKey().toString("base64")}\n`);
    const root = join(dir, "root");
    const args = ["--catalog-key-file", file];
    const first = await startServer({ root, args });
    await first.client.createNamespace("ns");
    await first.stop();
    const without = await runCli(["serve", root, "--port", "0"]);
    expect([without.code, without.err]).toEqual([
      1,
      expect.stringContaining("give their key with --catalog-key-file"),
    ]);
    const again = await startServer({ root, args });
    expect((await again.client.post("/v1/namespace/ns/describe", {})).status).toBe(200);
    await again.stop();
  });

  it("excludes --catalog-key, which the environment may have", async () => {
    const dir = tempDir("catalog-key");
    onTestFinished(() => removeDir(dir));
    const file = join(dir, "key");
    const key = newKey().toString("base64");
    writeFileSync(file, key);
    const env = { JOUST_CATALOG_KEY: key };
    const args = ["serve", dir, "--port", "0", "--catalog-key-file", file];
    const both = await runCli(args, { env });
    expect([both.code, both.err]).toEqual([2, expect.stringContaining("are both given")]);
    expect(both.err).not.toContain(key);
    const root = join(dir, "root");
    const server = await startServer({ root, env });
    await server.stop();
    const again = await startServer({ root, args: ["--catalog-key-file", file] });
    await again.stop();
  });

  it.each([
    ["", /is empty/],
    ["short\n", /32 random bytes in base64/],
    [`${"A".repeat(43)}=\nno key\n`, /32 random bytes in base64/],
  ])("with the content %j is refused", async (content, message) => {
    const dir = tempDir("catalog-key");
    onTestFinished(() => removeDir(dir));
    const file = join(dir, "key");
    writeFileSync(file, content);
    const { code, err } = await runCli(["serve", dir, "--port", "0", "--catalog-key-file", file]);
    expect([code, message.test(err)]).toEqual([2, true]);
  });
});
