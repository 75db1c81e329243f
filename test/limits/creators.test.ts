/** Every way to create a table counts it for the caller that created it, also on other servers and after a restart. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sqlPort } from "../flight/sql-port.js";
import { items } from "../harness/arrow.js";
import { createKey, runCli } from "../harness/cli.js";
import type { Client } from "../harness/client.js";
import { FlightClient } from "../harness/flight-client.js";
import { IdentityProvider } from "../harness/identity-provider.js";
import { waitForJob } from "../harness/jobs.js";
import { type Postgres, postgresMissing, startPostgres } from "../harness/postgres.js";
import { newKey, type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { expectRefusal, untilMeasured } from "./limited-server.js";

/** The rows of each table, so that a sum names the tables. */
const rowsOf = {
  created: 1,
  selected: 2,
  overFlight: 4,
  view: 8,
  declared: 16,
  batched: 32,
  inDatabase: 64,
  shallow: 128,
  deep: 256,
  registered: 512,
  replaced: 1024,
} as const;

const all = Object.values(rowsOf).reduce((sum, rows) => sum + rows, 0);

/** Creates a table in each way: `caller` owns them, and `other` writes what it can. */
async function createAll(server: Server, caller: Client, other: Client): Promise<void> {
  const locations = new Map<string, string>();
  const make = async (id: string, rows: number) => {
    locations.set(id, (await other.createTable(id, items(rows))).location);
  };
  for (const id of ["shallow", "deep", "registered", "replaced"] as const) {
    await make(`source_${id}`, rowsOf[id]);
  }
  const location = (id: keyof typeof rowsOf) => locations.get(`source_${id}`) as string;
  await caller.createTable("created", items(rowsOf.created));
  const select = (name: keyof typeof rowsOf) =>
    `CREATE TABLE ${name} AS SELECT * FROM source_deep WHERE id < ${rowsOf[name]}`;
  await caller.ok("/v1/sql", { query: select("selected") });
  const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, caller.key);
  await flight.sql(select("overFlight").replace("overFlight", "over_flight"));
  flight.close();
  const { job_id } = await caller.ok("/v1/materialized_view/view/create", {
    query: `SELECT id FROM source_deep WHERE id < ${rowsOf.view}`,
    with_data: true,
  });
  await waitForJob(other, job_id);
  await caller.ok("/v1/table/declared/declare");
  await other.createTable("declared", items(rowsOf.declared));
  const declare = { declare_table: { id: ["batched"] } };
  await caller.ok("/v1/table/batch-commit", { operations: [declare] });
  await other.createTable("batched", items(rowsOf.batched));
  await other.createNamespace("db");
  await caller.inDatabase("db").createTable("t", items(rowsOf.inDatabase));
  for (const [id, is_shallow] of [
    ["shallow", true],
    ["deep", false],
  ] as const) {
    await caller.ok(`/v1/table/${id}/clone`, { source_location: location(id), is_shallow });
  }
  await other.ok("/v1/table/source_registered/deregister");
  await caller.ok("/v1/table/registered/register", { location: location("registered") });
  await other.createTable("replaced", items(2));
  await other.ok("/v1/table/source_replaced/deregister");
  const replace = { location: location("replaced"), mode: "overwrite" };
  await caller.ok("/v1/table/replaced/register", replace);
  // A caller that only changes its properties does not become the creator.
  await other.ok("/v1/table/replaced/register", { ...replace, properties: { a: "b" } });
  // A caller that overwrites it does not, either.
  await other.createTable("created", items(rowsOf.created), { mode: "overwrite" });
}

describe.each(["SQLite", "Postgres"])("the tables of a caller in a catalog in %s", (database) => {
  const isPostgres = database === "Postgres";

  describe.skipIf(isPostgres && postgresMissing)("count for its limit", { timeout: 90_000 }, () => {
    const key = newKey();
    const root = tempDir("creators");
    const file = join(tempDir("creators-limits"), "limits.yaml");
    let postgres: Postgres | undefined;
    let catalog: string[] = [];
    let server: Server;
    let made: { key: string; id: string };
    const start = () => startServer({ root, key, args: ["--limits", file, ...catalog] });

    beforeAll(async () => {
      if (isPostgres) {
        postgres = await startPostgres();
        catalog = ["--catalog", postgres.createDatabase()];
      }
      writeFileSync(file, "");
      server = await start();
      made = await createKey(root, "admin", catalog);
      await createAll(server, server.client.withKey(made.key), server.client);
      writeFileSync(file, JSON.stringify({ keys: { [made.id]: { rows: 1 } } }));
      await server.stop();
      server = await start();
    });
    afterAll(async () => {
      await server?.stop();
      await postgres?.stop();
      removeDir(root);
      removeDir(join(file, ".."));
    });

    const create = (client: Client) => client.post("/v1/table/more/create", items(1));
    const beyond = new RegExp(`the tables that it created have ${all} of 1 rows`);

    it("after a restart of the server, however they were created", async () => {
      expectRefusal(await create(server.client.withKey(made.key)), "rows", beyond);
    });

    it("on another server, which finds later writes after a while", async () => {
      const other = await start();
      const client = other.client.withKey(made.key);
      expectRefusal(await create(client), "rows", beyond);
      await server.client.ok("/v1/table/over_flight/drop");
      await server.client.ok("/v1/table/shallow/rename", {
        new_table_name: "moved",
        new_namespace_id: ["db"],
      });
      const less = `have ${all - rowsOf.overFlight} of 1 rows`;
      await waitFor(
        "the drop counts",
        async () => (await create(client)).text.includes(less),
        untilMeasured,
      );
      await other.stop();
    });

    it("when the key is rotated, and not for a key that replaces it", async () => {
      const { out } = await runCli(["key", "rotate", made.id, "--overlap=0", ...catalog, root]);
      const [, rotated = ""] = /: (joust_\S+)\n/.exec(out) ?? [];
      const client = server.client.withKey(rotated);
      expectRefusal(
        await waitFor("the server knows the key", async () => {
          const answer = await create(client);
          return answer.status !== 401 && answer;
        }),
        "rows",
        /the tables that it created have \d+ of 1 rows/,
      );
      const replacing = await createKey(root, "admin", catalog);
      writeFileSync(file, JSON.stringify({ roles: { admin: { rows: 1 } } }));
      process.kill(server.pid, "SIGHUP");
      const other = server.client.withKey(replacing.key);
      expect((await create(other)).status).toBe(200);
      const refusal = await waitFor("the limits are used", async () => {
        const answer = await other.post("/v1/table/more/insert", items(1));
        return answer.status === 429 && answer;
      });
      expectRefusal(refusal, "rows", /the tables that it created have \d+ of 1 rows/);
      // Its tables do not include those of the former key.
      const used = Number(/have (\d+) of/.exec(refusal.text)?.[1]);
      expect(used).toBe(await other.count("more"));
    });
  });
});

describe("the tables of a user of an identity provider", () => {
  it("count for its own limit and for those of its groups", async () => {
    const provider = await IdentityProvider.start();
    const dir = tempDir("user-limits");
    const file = join(dir, "limits.yaml");
    const limits = {
      defaults: { caller: { rows: 10 } },
      groups: { large: { rows: 100 } },
      users: { [`${provider.issuer}#ann`]: { rows: 50 } },
    };
    writeFileSync(file, JSON.stringify(limits));
    const server = await startServer({
      args: [
        ...["--limits", file, "--oidc-issuer", provider.issuer, "--oidc-audience", "joust"],
        ...["--oidc-roles", "writers=write"],
      ],
    });
    const user = async (sub: string, ...groups: string[]) =>
      server.client.withKey(await provider.sign({ sub, groups: ["writers", ...groups] }));
    const create = (client: Client, id: string, rows: number) =>
      client.post(`/v1/table/${id}/create`, items(rows));
    const ann = await user("ann");
    expect((await create(ann, "ann", 60)).status).toBe(200);
    // A later token of the same user.
    const later = await create(await user("ann", "large"), "more", 1);
    expectRefusal(later, "rows", /the user \\"ann\\" is at .* have 60 of 50 rows/);
    const bob = await user("bob", "large");
    expect((await create(bob, "bob", 90)).status).toBe(200);
    expect((await create(bob, "bob2", 20)).status).toBe(200);
    expectRefusal(await create(bob, "bob3", 1), "rows", /"bob\\" is at .* have 110 of 100 rows/);
    const cid = await user("cid");
    expect((await create(cid, "cid", 10)).status).toBe(200);
    expectRefusal(await create(cid, "cid2", 1), "rows", /"cid\\" is at .* have 10 of 10 rows/);
    await server.stop();
    await provider.stop();
    removeDir(dir);
  });
});
