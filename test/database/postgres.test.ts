import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { CatalogDatabase } from "../../src/database/database.js";
import { openPostgres } from "../../src/database/postgres/open.js";
import { OutcomeUnknown } from "../../src/database/sql-error.js";
import { quiet } from "../catalog/catalog-databases.js";
import { type Postgres, postgresMissing, startPostgres } from "../harness/postgres.js";
import { TcpProxy } from "../harness/tcp-proxy.js";
import { waitFor } from "../harness/wait-for.js";

describe.skipIf(postgresMissing)(`the catalog in Postgres${postgresMissing ?? ""}`, () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  const open = async (url: string, statementTimeout?: number): Promise<CatalogDatabase> => {
    const db = await openPostgres(url, quiet, { ...(statementTimeout && { statementTimeout }) });
    onTestFinished(() => db.close());
    return db;
  };

  const openThroughProxy = async (statementTimeout?: number) => {
    const url = new URL(postgres.createDatabase());
    const direct = await open(url.href);
    const proxy = await TcpProxy.start(Number(url.port));
    url.port = String(proxy.port);
    return { proxy, direct, db: await open(url.href, statementTimeout) };
  };

  const insert = (db: CatalogDatabase, id: string) =>
    db.write((t) => t.insertInto("servers").values({ id, alive_until: 0 }).execute());

  const servers = async ({ read }: CatalogDatabase): Promise<string[]> =>
    (await read.selectFrom("servers").select("id").execute()).map(({ id }) => id);

  it("reports that the outcome is unknown if the connection breaks during a COMMIT", async () => {
    const { proxy, direct, db } = await openThroughProxy();
    proxy.cutAfter = "commit";
    await expect(insert(db, "a")).rejects.toThrow(OutcomeUnknown);
    // Postgres received the COMMIT.
    await waitFor("the row", async () => (await servers(direct)).includes("a"));
    await insert(db, "b");
    expect((await servers(db)).sort()).toEqual(["a", "b"]);
  });

  it("reports that it is unavailable if the connection breaks before the COMMIT", async () => {
    const { proxy, direct, db } = await openThroughProxy();
    proxy.cutAfter = "insert into";
    const failed = insert(db, "a");
    await expect(failed).rejects.toMatchObject({ code: 17 });
    await expect(failed).rejects.not.toBeInstanceOf(OutcomeUnknown);
    expect(await servers(direct)).toEqual([]);
  });

  it("gives up a connection whose network is down", async () => {
    const { proxy, db } = await openThroughProxy(1_000);
    await insert(db, "a");
    proxy.isFrozen = true;
    await expect(insert(db, "b")).rejects.toMatchObject({ code: 17 });
    proxy.isFrozen = false;
    await insert(db, "c");
    expect((await servers(db)).sort()).toEqual(["a", "c"]);
  });

  it("renews leases while requests use all connections", async () => {
    const db = await open(postgres.createDatabase());
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    // All connections are in a transaction until the test ends it.
    const slow = Array.from({ length: 10 }, () => db.write(() => ended));
    const begun = () =>
      db.writeWithPriority(async (t) => {
        const { rows } = await sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
          where datname = current_database() and state = 'idle in transaction'`.execute(t);
        return rows[0]?.n === 10;
      });
    await waitFor("ten transactions", begun);
    end();
    await Promise.all(slow);
  });
});
