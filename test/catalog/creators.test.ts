import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CompiledQuery, sql } from "kysely";
import { expect, it } from "vitest";
import { selectAllTables } from "../../src/catalog/listings.js";
import type { CatalogDatabase } from "../../src/database/database.js";
import { openPostgres } from "../../src/database/postgres/open.js";
import { openSqlite } from "../../src/database/sqlite/open.js";
import { describeOnEachDatabase, makeTable, quiet, type TestCatalog } from "./catalog-databases.js";

describeOnEachDatabase((newCatalog, kind) => {
  const connect = ({ url }: TestCatalog): Promise<CatalogDatabase> =>
    kind === "postgres" ? openPostgres(url, quiet) : openSqlite(url);

  it("the creator of a table stays over renames and changes of properties", async () => {
    const { catalog } = await newCatalog().open();
    await catalog.createNamespace(["n"], "create", {});
    const { key } = await makeTable({ catalog }, ["t"], {}, "ann");
    expect(await catalog.table(["t"])).toMatchObject({ creator: "ann" });
    await catalog.renameTable(["t"], ["n", "u"]);
    await catalog.setTableProperties(key, { a: "b" });
    expect(await catalog.table(["n", "u"])).toMatchObject({ creator: "ann" });
    expect(await catalog.tableByKey(key)).toMatchObject({ creator: "ann" });
  });

  it("a declared table belongs to the caller that declared it", async () => {
    const { catalog } = await newCatalog().open();
    const declare = [{ id: ["t"], properties: {}, creator: "ann" }];
    const { declared } = await catalog.changeTables({ declare });
    expect(declared).toMatchObject([{ creator: "ann" }]);
    const { key } = await catalog.table(["t"]);
    await catalog.claimFirstVersion(key);
    await catalog.confirmTable(key);
    expect(await catalog.table(["t"])).toMatchObject({ creator: "ann", declared: false });
  });

  it("a registered table belongs to the caller that registered or replaced it", async () => {
    const { catalog } = await newCatalog().open();
    const [one, two] = [
      await makeTable({ catalog }, ["one"], {}, "ann"),
      await makeTable({ catalog }, ["two"], {}, "ann"),
    ];
    await catalog.changeTables({ deregister: [["two"]] });
    const wanted = { id: ["one"], location: two.location, properties: {}, creator: "bob" };
    await catalog.registerTable(wanted, { replace: true });
    expect(await catalog.table(["one"])).toMatchObject({ creator: "bob" });
    // Other properties of the same table.
    await catalog.registerTable({ ...wanted, creator: "cid" }, { replace: true });
    expect(await catalog.table(["one"])).toMatchObject({ creator: "bob" });
    const back = { id: ["back"], location: one.location, properties: {}, creator: "cid" };
    await catalog.registerTable(back, { replace: false });
    expect(await catalog.table(["back"])).toMatchObject({ creator: "cid" });
  });

  it("an adopted table has no creator", async () => {
    const test = newCatalog();
    const { catalog } = await test.open();
    const location = join(test.root, "t.lance");
    mkdirSync(location);
    const listing = { tables: [{ id: ["t"], location }], namespaces: [] };
    expect((await catalog.adopt(listing, async () => "table")).adopted).toHaveLength(1);
    expect(await catalog.table(["t"])).toMatchObject({ location, creator: null });
  });

  it("the tables of a creator are listed in pages, without those of others and dropped ones", async () => {
    const { catalog } = await newCatalog().open();
    await catalog.createNamespace(["n"], "create", {});
    for (const id of [["a"], ["c"], ["n", "b"]]) await makeTable({ catalog }, id, {}, "ann");
    await makeTable({ catalog }, ["b"], {}, "bob");
    await makeTable({ catalog }, ["adopted"]);
    await catalog.changeTables({ declare: [{ id: ["d"], properties: {}, creator: "ann" }] });
    await catalog.reserveTable(["e"], { properties: {}, storageOptions: {}, creator: "ann" });
    await makeTable({ catalog }, ["f"], {}, "ann");
    await catalog.dropTable(["f"]);
    const of = { declared: false, creator: "ann" };
    const first = await catalog.listAllTables({ limit: 2 }, of);
    expect(first.items).toEqual([["a"], ["c"]]);
    const { pageToken } = first;
    if (pageToken === undefined) throw new Error("there is another page");
    expect(await catalog.listAllTables({ limit: 2, pageToken }, of)).toEqual({
      items: [["n", "b"]],
    });
    const inNamespace = await catalog.listAllTables({}, { ...of, within: ["n"] });
    expect(inNamespace.items).toEqual([["n", "b"]]);
  });

  it("the database finds the tables of a creator by their index", async () => {
    const test = newCatalog();
    const { catalog } = await test.open();
    await makeTable({ catalog }, ["t"], {}, "ann");
    const db = await connect(test);
    const prefix = kind === "postgres" ? "explain" : "explain query plan";
    const options = { declared: false, creator: "ann" };
    const query = selectAllTables(db, options, ["", "a"], 101).compile();
    const plan = await db.read.connection().execute(async (connection) => {
      // Postgres reads a small table without an index otherwise.
      if (kind === "postgres") await sql`set enable_seqscan = off`.execute(connection);
      const explain = CompiledQuery.raw(`${prefix} ${query.sql}`, [...query.parameters]);
      return connection.executeQuery(explain);
    });
    expect(JSON.stringify(plan.rows)).toContain("tables_by_creator");
    expect(JSON.stringify(plan.rows)).not.toMatch(/sort|temp b-tree/i);
    await db.close();
  });
});
