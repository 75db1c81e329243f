import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { OutcomeUnknown } from "../../src/database/sql-error.js";
import { openCatalog } from "../../src/server/open-catalog.js";
import { type Postgres, postgresMissing, startPostgres } from "../harness/postgres.js";
import { TcpProxy } from "../harness/tcp-proxy.js";
import { tempDir } from "../harness/temp.js";
import { makeTable, quiet } from "./catalog-databases.js";

/** Makes each COMMIT that changes a row of `tables` take a second. */
const SLOW_COMMIT = `
  create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(1); return null; end';
  create constraint trigger slow after insert or update on tables
    deferrable initially deferred for each row execute function slow()`;

describe.skipIf(postgresMissing)(
  "a COMMIT that Postgres still runs after the connection broke",
  () => {
    let postgres: Postgres;
    beforeAll(async () => {
      postgres = await startPostgres();
    });
    afterAll(() => postgres.stop());

    async function setUp() {
      const url = new URL(postgres.createDatabase());
      const admin = new pg.Client({ connectionString: url.href });
      await admin.connect();
      onTestFinished(() => admin.end());
      const proxy = await TcpProxy.start(Number(url.port));
      url.port = String(proxy.port);
      const opened = await openCatalog({
        root: tempDir("catalog"),
        url: url.href,
        log: quiet,
        role: "server",
      });
      onTestFinished(() => opened.close());
      /** Runs a change whose connection breaks when its COMMIT begins. */
      const interrupt = async (change: () => Promise<unknown>) => {
        await admin.query(SLOW_COMMIT);
        proxy.cutAfter = "commit";
        await expect(change()).rejects.toThrow(OutcomeUnknown);
        await admin.query("drop trigger slow on tables; drop function slow");
      };
      return { catalog: opened.catalog, interrupt };
    }

    it("of a reservation leaves the name free", async () => {
      const { catalog, interrupt } = await setUp();
      const options = { key: "k", properties: {}, storageOptions: {}, creator: null };
      await interrupt(() => catalog.reserveTable(["t"], options));
      await makeTable({ catalog }, ["t"]);
      expect((await catalog.claimOrphanedTables()).map(({ key }) => key)).toEqual(["k"]);
    });

    it("of a drop leaves the files to a later removal", async () => {
      const { catalog, interrupt } = await setUp();
      const { key } = await makeTable({ catalog }, ["t"]);
      await interrupt(() => catalog.dropTable(["t"]));
      expect((await catalog.claimOrphanedTables()).map((table) => table.key)).toEqual([key]);
    });

    it("of a claim of a first version leaves it to another request", async () => {
      const { catalog, interrupt } = await setUp();
      const { declared } = await catalog.changeTables({
        declare: [{ id: ["t"], properties: {}, creator: null }],
      });
      const key = declared[0]?.key as string;
      await interrupt(() => catalog.claimFirstVersion(key));
      expect(await catalog.claimFirstVersion(key)).toBe(true);
    });
  },
);
