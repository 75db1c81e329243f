import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SqliteConnection } from "../../src/database/sqlite/connection.js";
import { openSqlite } from "../../src/database/sqlite/open.js";
import { openCatalog } from "../../src/server/open-catalog.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { quiet } from "./catalog-databases.js";

let directory: string;
let path: string;
beforeEach(() => {
  directory = tempDir("sqlite");
  path = join(directory, "catalog.db");
});
afterEach(() => removeDir(directory));

describe("the SQLite connection", () => {
  it("is durable, shared and enforces foreign keys", () => {
    const connection = new SqliteConnection(path);
    const pragma = (name: string) =>
      Object.values(connection.prepare(`pragma ${name}`).all([])[0] as object)[0];
    expect(pragma("journal_mode")).toBe("wal");
    expect(pragma("synchronous")).toBe(2);
    expect(pragma("foreign_keys")).toBe(1);
    expect(pragma("busy_timeout")).toBeGreaterThan(0);
    connection.close();
  });

  it("continues to commit after a write failed because the file was locked", async () => {
    const db = await openSqlite(path);
    const other = new Database(path);
    const create = (name: string) =>
      db.write((t) =>
        t
          .insertInto("namespaces")
          .values({ path: name, parent: "", name, properties: "{}", found: 0, created_at: 1 })
          .execute(),
      );
    other.exec("begin immediate");
    await expect(create("a")).rejects.toMatchObject({ code: 17 });
    // The same outside of a transaction, as in migrations.
    await expect(sql`update namespaces set name = name`.execute(db.read)).rejects.toMatchObject({
      code: "SQLITE_BUSY",
    });
    other.exec("rollback");
    await create("b");
    expect(other.prepare("select name from namespaces order by name").all()).toEqual([
      { name: "" },
      { name: "b" },
    ]);
    other.exec("begin immediate");
    other.exec("rollback");
    other.close();
    await db.close();
  });

  it("rolls back only the failing write of a group commit", async () => {
    const db = await openSqlite(path);
    const create = (name: string, then = () => {}) =>
      db.write(async (t) => {
        await t
          .insertInto("namespaces")
          .values({ path: name, parent: "", name, properties: "{}", found: 0, created_at: 1 })
          .execute();
        then();
      });
    const fail = () => {
      throw new Error("changed my mind");
    };
    const results = await Promise.allSettled([create("a"), create("b", fail), create("c")]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const names = await db.read.selectFrom("namespaces").select("name").orderBy("name").execute();
    expect(names).toEqual([{ name: "" }, { name: "a" }, { name: "c" }]);
    await db.close();
  });

  it("rejects a bind value that would end the process", () => {
    const connection = new SqliteConnection(path);
    expect(() => connection.prepare("select ? as a").all([true])).toThrow(
      /boolean cannot be bound/,
    );
    expect(connection.prepare("select ? as a").all([null])).toEqual([{ a: null }]);
    connection.close();
  });

  it("gives each call its own parameters", () => {
    const connection = new SqliteConnection(path);
    const same = () => connection.prepare("select ? as a union all select ? as a");
    expect(same().all([1, 2])).toEqual([{ a: 1 }, { a: 2 }]);
    expect(same().all([3, 4])).toEqual([{ a: 3 }, { a: 4 }]);
    connection.close();
  });
});

describe("a SQLite catalog", () => {
  const open = (role: "server" | "tool") =>
    openCatalog({ root: directory, url: path, log: quiet, role });

  it("can be shared by several servers, and each is registered while it runs", async () => {
    const alive = async () => {
      const db = await openSqlite(path);
      const rows = await db.read.selectFrom("servers").select("id").execute();
      await db.close();
      return rows.length;
    };
    const first = await open("server");
    const second = await open("server");
    expect(await alive()).toBe(2);
    await first.close();
    expect(await alive()).toBe(1);
    await second.close();
    expect(await alive()).toBe(0);
    expect(readdirSync(directory).filter((name) => name.includes("-server-"))).toEqual([]);
  });

  it("commits for two processes that write continuously", async () => {
    const servers = [await open("server"), await open("server")];
    const create = (server: number) =>
      Array.from({ length: 50 }, (_, index) =>
        servers[server]?.catalog.createNamespace([`n${server}-${index}`], "create", {}),
      );
    await Promise.all([0, 1].flatMap(create));
    const seen = await servers[0]?.catalog.listNamespaces([], { limit: 1_000 });
    expect(seen?.items).toHaveLength(100);
    for (const server of servers) await server.close();
  });

  it("rejects a file that is not a database and leaves it unchanged", async () => {
    writeFileSync(path, "these are somebody's notes, not a database. ".repeat(100));
    await expect(open("tool")).rejects.toThrow();
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  it("looks names up by index and pages without a sort", async () => {
    const db = await openSqlite(path);
    const plan = async (query: { compile(): { sql: string; parameters: readonly unknown[] } }) => {
      const { sql: text, parameters } = query.compile();
      const connection = new SqliteConnection(path);
      const rows = connection.prepare(`explain query plan ${text}`).all(parameters as unknown[]);
      connection.close();
      return (rows as { detail: string }[]).map((row) => row.detail).join("; ");
    };
    const tables = db.read.selectFrom("tables").select("name").where("namespace", "=", "n");
    const live = tables.where("state", "=", "live");
    const looks = await plan(live.where("name", "=", "t"));
    expect(looks).toMatch(
      /^SEARCH tables USING INDEX tables_by_name \(namespace=\? AND name=\?\)$/,
    );
    const pages = await plan(live.where("name", ">", "t").orderBy("name").limit(11));
    expect(pages).toMatch(
      /^SEARCH tables USING INDEX tables_by_name \(namespace=\? AND name>\?\)$/,
    );
    const all = db.read
      .selectFrom("tables")
      .select(["namespace", "name"])
      .where("state", "=", "live")
      .where(sql<boolean>`(namespace, name) > (${"n"}, ${"t"})`)
      .orderBy("namespace")
      .orderBy("name");
    expect(await plan(all)).toMatch(/^SEARCH tables USING INDEX tables_by_name [^;]*$/);
    const children = db.read.selectFrom("namespaces").select("name").where("parent", "=", "n");
    expect(await plan(children.where("name", ">", "m").orderBy("name"))).toMatch(
      /^SEARCH namespaces USING COVERING INDEX namespaces_by_parent [^;]*$/,
    );
    await db.close();
  });
});
