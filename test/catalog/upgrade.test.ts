import { sql } from "kysely";
import { expect, it } from "vitest";
import { openPostgres } from "../../src/database/postgres/open.js";
import { openSqlite } from "../../src/database/sqlite/open.js";
import { describeOnEachDatabase, quiet } from "./catalog-databases.js";

describeOnEachDatabase((newCatalog, kind) => {
  it("a catalog of a newer joust version is rejected and left unchanged", async () => {
    const catalog = newCatalog();
    await (await catalog.open("tool")).close();
    const db = await (kind === "postgres"
      ? openPostgres(catalog.url, quiet)
      : openSqlite(catalog.url));
    const record = sql`insert into joust_migrations (name, timestamp) values ('9999-later', '')`;
    await db.read.connection().execute((connection) => record.execute(connection));

    await expect(catalog.open("tool")).rejects.toThrow(
      "the catalog belongs to a newer version of joust (it has 9999-later): start that version",
    );
    const executed = sql<{ name: string }>`select name from joust_migrations order by name`;
    const { rows } = await executed.execute(db.read);
    expect(rows.at(-1)?.name).toBe("9999-later");
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
    const db = await (kind === "postgres"
      ? openPostgres(catalog.url, quiet)
      : openSqlite(catalog.url));
    await db.read.connection().execute(async (connection) => {
      // What the migrations from 0014 on have made.
      await sql`drop table databases`.execute(connection);
      await sql`drop table auto_refreshes`.execute(connection);
      await sql`drop table clones`.execute(connection);
      await sql`delete from joust_migrations where name >= '0014'`.execute(connection);
    });
    await db.close();

    const upgraded = await catalog.open("tool");
    const isDatabase = (name: string) => upgraded.catalog.isDatabase(name);
    expect(await Promise.all(["dev", "inner", ""].map(isDatabase))).toEqual([true, false, false]);
    await upgraded.close();
  });
});
