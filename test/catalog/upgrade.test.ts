import { type Kysely, sql } from "kysely";
import { expect, it } from "vitest";
import type { CatalogDatabase } from "../../src/database/database.js";
import { openPostgres } from "../../src/database/postgres/open.js";
import type { CatalogSchema } from "../../src/database/schema.js";
import { openSqlite } from "../../src/database/sqlite/open.js";
import { describeOnEachDatabase, makeTable, quiet, type TestCatalog } from "./catalog-databases.js";

/** The names of the migrations that a catalog has. */
async function recorded(db: Kysely<CatalogSchema>): Promise<string[]> {
  const query = sql<{ name: string }>`select name from joust_migrations order by name`;
  return (await query.execute(db)).rows.map(({ name }) => name);
}

/** Undoes the migrations from 0018 on. */
async function undoFrom0018(db: Kysely<CatalogSchema>): Promise<void> {
  await sql`alter table removal_acknowledgements rename to departures`.execute(db);
  await sql`alter table leases rename to duties`.execute(db);
  await sql`drop index tables_by_creator`.execute(db);
  await sql`alter table tables drop column creator`.execute(db);
}

describeOnEachDatabase((newCatalog, kind) => {
  const connect = ({ url }: TestCatalog): Promise<CatalogDatabase> =>
    kind === "postgres" ? openPostgres(url, quiet) : openSqlite(url);

  /** Makes a catalog one from before 0018-table-creators. */
  async function downgrade(catalog: TestCatalog): Promise<void> {
    const db = await connect(catalog);
    await db.read.connection().execute(async (connection) => {
      await undoFrom0018(connection);
      await sql`delete from joust_migrations where name >= '0018'`.execute(connection);
    });
    await db.close();
  }

  it("a catalog of a newer joust version is rejected and left unchanged", async () => {
    const catalog = newCatalog();
    await (await catalog.open("tool")).close();
    const db = await connect(catalog);
    const record = sql`insert into joust_migrations (name, timestamp) values ('9999-later', '')`;
    await db.read.connection().execute((connection) => record.execute(connection));

    await expect(catalog.open("tool")).rejects.toThrow(
      "the catalog belongs to a newer version of joust (it has 9999-later): start that version",
    );
    expect((await recorded(db.read)).at(-1)).toBe("9999-later");
    await sql`delete from joust_migrations where name = '9999-later'`.execute(db.read);
    await db.close();
    await (await catalog.open("tool")).close();
  });

  it("the namespaces of an older catalog are databases", async () => {
    const catalog = newCatalog();
    const older = await catalog.open("tool");
    await older.catalog.createNamespace(["dev"], "create", {});
    await older.catalog.createNamespace(["dev", "inner"], "create", {});
    await older.close();
    const db = await connect(catalog);
    await db.read.connection().execute(async (connection) => {
      // What the migrations from 0014 on have made.
      await sql`drop table databases`.execute(connection);
      await sql`drop table auto_refreshes`.execute(connection);
      await sql`drop table clones`.execute(connection);
      await undoFrom0018(connection);
      await sql`delete from joust_migrations where name >= '0014'`.execute(connection);
    });
    await db.close();

    const upgraded = await catalog.open("tool");
    const isDatabase = (name: string) => upgraded.catalog.isDatabase(name);
    expect(await Promise.all(["dev", "inner", ""].map(isDatabase))).toEqual([true, false, false]);
    await upgraded.close();
  });

  it("the tables of an older catalog have no creator, and later ones have", async () => {
    const catalog = newCatalog();
    const older = await catalog.open("tool");
    const { key } = await makeTable(older, ["old"], {}, "ann");
    await older.close();
    await downgrade(catalog);

    // Two servers that start at the same time.
    const [upgraded] = await Promise.all([catalog.open("tool"), catalog.open("tool")]);
    expect(await upgraded.catalog.table(["old"])).toMatchObject({ key, creator: null });
    await makeTable(upgraded, ["new"], {}, "ann");
    const ofAnn = { declared: true, creator: "ann" };
    expect((await upgraded.catalog.listAllTables({}, ofAnn)).items).toEqual([["new"]]);
    await upgraded.catalog.renameTable(["old"], ["renamed"]);
    expect(await upgraded.catalog.table(["renamed"])).toMatchObject({ key, creator: null });
    await upgraded.close();
  });

  it("the leases of an older catalog stay", async () => {
    const catalog = newCatalog();
    const older = await catalog.open("tool");
    const hour = 3_600_000;
    expect(await older.catalog.takeLease("work", hour)).toBe(true);
    await older.close();
    await downgrade(catalog);

    const upgraded = await catalog.open("tool");
    expect(await upgraded.catalog.takeLease("work", hour)).toBe(false);
    expect(await upgraded.catalog.takeLease("other", hour)).toBe(true);
    await upgraded.close();
  });

  const replaced = [
    "0001-catalog",
    "0002-transactions",
    "0003-uploads",
    "0004-job-results",
    "0005-requests",
    "0006-departures",
    "0007-secrets",
    "0008-clean-ups",
  ];

  /** A catalog that records some of the migrations that 0001-initial replaces, in place of it. */
  async function catalogWith(names: readonly string[]): Promise<TestCatalog> {
    const catalog = newCatalog();
    const { catalog: older, close } = await catalog.open("tool");
    await older.createNamespace(["dev"], "create", {});
    await close();
    const db = await connect(catalog);
    await sql`delete from joust_migrations where name = '0001-initial'`.execute(db.read);
    for (const name of names) {
      // Before those that come after it.
      const record = sql`insert into joust_migrations (name, timestamp) values (${name}, '2026-01-01T00:00:00.000Z')`;
      await record.execute(db.read);
    }
    await db.close();
    return catalog;
  }

  it("a catalog of 0.1.0 records one migration in place of its eight", async () => {
    const catalog = await catalogWith(replaced);
    // Two servers that start at the same time.
    const opened = await Promise.all([catalog.open("tool"), catalog.open("tool")]);
    for (const { catalog: upgraded } of opened) {
      expect((await upgraded.describeNamespace(["dev"])).path).toEqual(["dev"]);
    }
    const db = await connect(catalog);
    const names = await recorded(db.read);
    expect(names[0]).toBe("0001-initial");
    expect(names.filter((name) => replaced.includes(name))).toEqual([]);
    await db.close();
  });

  it("a catalog that is older than 0.1.0 is rejected and left unchanged", async () => {
    const catalog = await catalogWith(replaced.slice(0, 6));
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(catalog.open("tool")).rejects.toThrow(
        "the catalog is older than joust 0.1.0 (it lacks 0007-secrets, 0008-clean-ups): start joust 0.1.0",
      );
    }
  });
});
