import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../../src/database/sqlite/open.js";
import { type Server, startServer } from "../../harness/server.js";
import { removeDir, tempDir } from "../../harness/temp.js";

const archives = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".tar.gz"));

/** The columns of each table, without their order, and the definitions of indexes. */
function schemaOf(catalog: string): Record<string, unknown> {
  const database = new Database(catalog, { readonly: true });
  const objects = database
    .prepare("select name, type, sql from sqlite_master where name not like 'sqlite_%'")
    .all() as { name: string; type: string; sql: string }[];
  const columns = database.prepare(
    'select name, type, "notnull", dflt_value, pk from pragma_table_info(?) order by name',
  );
  const references = database.prepare(
    'select "table", "from", "to", on_delete from pragma_foreign_key_list(?) order by "from"',
  );
  const described = objects.map(({ name, type, sql }) => [
    name,
    type === "table" ? { columns: columns.all(name), references: references.all(name) } : sql,
  ]);
  database.close();
  return Object.fromEntries(described);
}

/** Created by make-data-directory.mjs with the released version in each name. */
describe.each(archives)("the data directory %s", (archive) => {
  let root: string;
  let server: Server;

  beforeAll(async () => {
    root = tempDir("upgrade");
    execFileSync("tar", ["-xzf", join(import.meta.dirname, archive), "-C", root]);
    server = await startServer({ root });
  });
  afterAll(async () => {
    await server.stop();
    removeDir(root);
  });

  const docs = "animals$docs";
  const path = (operation: string) => `/v1/table/${encodeURIComponent(docs)}/${operation}`;
  const ids = async (query: object) => {
    const table = await server.client.query(docs, { columns: { column_names: ["id"] }, ...query });
    return [...(table.getChild("id") ?? [])].map(Number);
  };

  it("contains its namespaces, tables and rows", async () => {
    const namespace = await server.client.ok("/v1/namespace/animals/describe", {});
    expect(namespace.properties.owner).toBe("zoo");
    expect(await server.client.count(docs)).toBe(310);
    expect(await server.client.count("plain")).toBe(5);
    expect(await ids({ vector: { single_vector: [] }, filter: "double = 24", k: 5 })).toEqual([12]);
  });

  it("has the tables and indexes of a new catalog", async () => {
    const directory = tempDir("catalog");
    const fresh = join(directory, "catalog.db");
    await (await openSqlite(fresh)).close();
    expect(schemaOf(join(root, ".joust", "catalog.db"))).toEqual(schemaOf(fresh));
    removeDir(directory);
  });

  it("answers searches from its indexes and for later rows", async () => {
    const { indexes } = await server.client.ok(path("index/list"), {});
    const types = indexes.map((index: { columns: string[] }) => index.columns[0]).sort();
    expect(types).toEqual(["id", "text", "vector"]);
    const vector = { vector: { single_vector: [10 % 7, 10, 10, 1] }, k: 1 };
    expect(await ids(vector)).toEqual([10]);
    const zebras = { full_text_query: { string_query: { query: "zebras" } } };
    expect(await ids({ vector: { single_vector: [] }, ...zebras })).toEqual([10]);
    const recent = { full_text_query: { string_query: { query: "319" } } };
    expect(await ids({ vector: { single_vector: [] }, ...recent })).toEqual([319]);
  });

  it("contains its versions, tags, branches and views and accepts writes", async () => {
    const { tags } = await server.client.ok(path("tags/list"), {});
    expect(tags.indexed.version).toBe(4);
    expect(await server.client.count(docs, { version: 4 })).toBe(300);
    const { branches } = await server.client.ok(path("branches/list"), {});
    expect(Object.keys(branches)).toEqual(["draft"]);
    expect(await server.client.count("by_group")).toBe(4);
    await server.client.ok(path("delete"), { predicate: "id >= 300" });
    expect(await server.client.count(docs)).toBe(290);
  });
});

it("the archived data directories include every release", () => {
  expect(archives).toContain("data-0.1.0.tar.gz");
});
