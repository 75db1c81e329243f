/** Limits of the rows and bytes of all tables that a caller created. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import type { Answer, Client } from "../harness/client.js";
import { type Postgres, postgresMissing, startPostgres } from "../harness/postgres.js";
import { waitFor } from "../harness/wait-for.js";
import { expectRefusal, setupLimitedServer, untilMeasured } from "./limited-server.js";

/** Each transport, two event loops, and each database. */
const variants: readonly (readonly [http: string, threads: string, database: string])[] = [
  ["uws", "1", "SQLite"],
  ["uws", "2", "SQLite"],
  ["node", "1", "Postgres"],
];

/** The refusal of a caller of the name `write`. */
const beyond = (rows: number) =>
  new RegExp(
    `the key \\\\"write\\\\" is at its storage limit: the tables that it created have ${rows} of 100 rows; delete rows or drop tables first`,
  );

describe.each(variants)(
  "storage limits of callers with --http %s, --http-threads %s and %s",
  (...variant) => {
    const [http, threads, database] = variant;
    const isPostgres = database === "Postgres";

    describe.skipIf(isPostgres && postgresMissing)("hold", { timeout: 90_000 }, () => {
      let postgres: Postgres | undefined;
      afterAll(() => postgres?.stop());
      const limited = setupLimitedServer(http, threads, isPostgres ? newCatalog : undefined);
      async function newCatalog(): Promise<string> {
        postgres = await startPostgres();
        return postgres.createDatabase();
      }

      beforeAll(async () => {
        await limited.client.createNamespace("ns");
        await limited.client.createTable("source", items(120));
        await limited.setLimits({
          defaults: { caller: { rows: 100, bytes: "1GiB" } },
          keys: { "--api-key": { rows: null, bytes: null } },
        });
      });

      /** A caller that has no tables yet. */
      async function newCaller(role: "write" | "admin" = "write") {
        const { key, id } = await limited.newKey(role);
        return { caller: limited.client.withKey(key), id };
      }
      const insert = (client: Client, table: string, rows = 1) =>
        client.post(`/v1/table/${table}/insert`, items(rows));
      const drop = (...tables: string[]) =>
        Promise.all(tables.map((table) => limited.client.ok(`/v1/table/${table}/drop`)));
      const sql = (client: Client, query: string) => client.post("/v1/sql", { query });
      const locationOf = async (table: string): Promise<string> =>
        (await limited.client.ok(`/v1/table/${table}/describe`)).location;

      it("for its tables in all namespaces, wherever it writes, and for no other caller", async () => {
        const { caller } = await newCaller();
        const refusals = () =>
          limited.metric('joust_limit_refused_total{scope="caller",limit="rows"}');
        const before = await refusals();
        await caller.createTable("a", items(60));
        await caller.createTable("ns$b", items(50));
        await limited.client.createTable("others", items(5));
        const requests: [string, () => Promise<Answer>][] = [
          ["insert", () => insert(caller, "a")],
          ["insert into a table of another caller", () => insert(caller, "others")],
          ["create", () => caller.post("/v1/table/c/create", items(1))],
          [
            "add a column",
            () =>
              caller.post("/v1/table/a/add_columns", {
                new_columns: [{ name: "more", expression: "id + 1" }],
              }),
          ],
          [
            "create an index",
            () => caller.post("/v1/table/a/create_index", { column: "id", index_type: "BTREE" }),
          ],
          [
            "merge",
            () =>
              caller.post(
                "/v1/table/a/merge_insert?on=id&when_not_matched_insert_all=true",
                items(1),
              ),
          ],
          ["SQL", () => sql(caller, "INSERT INTO a SELECT * FROM a")],
          ["CREATE TABLE AS", () => sql(caller, "CREATE TABLE c AS SELECT * FROM others")],
        ];
        for (const [what, send] of requests) {
          const answer = await send();
          expect([what, answer.status, answer.text]).toEqual([what, 429, expect.anything()]);
          expectRefusal(answer, "rows", beyond(110));
        }
        expect(await refusals()).toBe(before + requests.length);
        expect((await insert(limited.client, "others")).status).toBe(200);
        const { caller: second } = await newCaller();
        await second.createTable("seconds", items(90));
        expect((await insert(second, "seconds")).status).toBe(200);
        expectRefusal(
          await insert(second, "seconds", 10).then(() => insert(second, "seconds")),
          "rows",
          beyond(101),
        );
        // What adds nothing is admitted.
        await caller.ok("/v1/table/a/update", { updates: [["price", "price + 1"]] });
        await caller.ok("/v1/table/a/delete", { predicate: "id < 20" });
        await waitFor(
          "the deletion counts",
          async () => (await insert(caller, "a")).status === 200,
          untilMeasured,
        );
        await drop("a", "ns$b", "others", "seconds");
      });

      it("for rows that others write, and for a table that others overwrite", async () => {
        const { caller } = await newCaller();
        await caller.createTable("a", items(50));
        await insert(limited.client, "a", 60);
        expectRefusal(await insert(caller, "a"), "rows", beyond(110));
        await limited.client.createTable("a", items(5), { mode: "overwrite" });
        expect((await insert(caller, "a")).status).toBe(200);
        await limited.client.createTable("a", items(105), { mode: "overwrite" });
        expectRefusal(await insert(caller, "a"), "rows", beyond(105));
        await limited.client.ok("/v1/table/a/drop");
        // The table of the same name that follows belongs to another caller.
        await limited.client.createTable("a", items(105));
        expect((await insert(caller, "a")).status).toBe(200);
        await drop("a");
      });

      it("for a table that is renamed and moved, which they do not refuse", async () => {
        const { caller } = await newCaller();
        await caller.createTable("a", items(110));
        const rename = { new_table_name: "b" };
        expect((await caller.post("/v1/table/a/rename", rename)).status).toBe(200);
        expectRefusal(await insert(caller, "b"), "rows", beyond(110));
        const move = { new_table_name: "c", new_namespace_id: ["ns"] };
        expect((await caller.post("/v1/table/b/rename", move)).status).toBe(200);
        expectRefusal(await insert(caller, "ns$c"), "rows", beyond(110));
        expect((await sql(limited.client, "ALTER TABLE ns.c RENAME TO d")).status).toBe(200);
        expectRefusal(await insert(caller, "ns$d"), "rows", beyond(110));
        await drop("ns$d");
      });

      it.each([true, false])(
        "for a clone that the caller made (shallow: %s)",
        async (is_shallow) => {
          const { caller } = await newCaller();
          const body = { source_location: await locationOf("source"), is_shallow };
          await caller.ok("/v1/table/clone/clone", body);
          expectRefusal(await insert(caller, "clone"), "rows", beyond(120));
          await caller.ok("/v1/table/clone/drop");
          await waitFor(
            "the drop counts",
            async () => (await caller.post("/v1/table/own/create", items(90))).status === 200,
            untilMeasured,
          );
          // Another caller clones a table of this one.
          const own = { source_location: await locationOf("own"), is_shallow };
          await limited.client.ok("/v1/table/clone/clone", own);
          expect((await insert(caller, "own")).status).toBe(200);
          await drop("clone", "own");
        },
      );

      it("for a declared table that another caller fills, and for versions", async () => {
        const { caller } = await newCaller();
        const declare = (id: string) =>
          caller.ok("/v1/table/batch-commit", { operations: [{ declare_table: { id: [id] } }] });
        await caller.ok("/v1/table/declared/declare");
        await declare("batched");
        await limited.client.createTable("declared", items(60));
        await limited.client.createTable("batched", items(70));
        expectRefusal(await insert(caller, "batched"), "rows", beyond(130));
        const version = { id: ["source"], version: 2, manifest_path: "none.manifest" };
        for (const [path, body] of [
          ["batch-commit", { operations: [{ create_table_version: version }] }],
          ["version/batch-create", { entries: [version] }],
          ["source/version/create", version],
        ] as const) {
          expectRefusal(await caller.post(`/v1/table/${path}`, body), "rows", beyond(130));
        }
        // As in a full namespace: a declaration adds no rows and no bytes.
        await declare("further");
        await drop("declared", "batched", "further");
      });

      it("without a reply that says who created a table", async () => {
        const { caller, id } = await newCaller("admin");
        const requests: [path: string, body: object][] = [
          ["declared/declare", {}],
          ["a/describe", { load_detailed_metadata: true }],
          ["clone/describe", { load_detailed_metadata: true }],
          ["declared/describe", { check_declared: true }],
          ["a/stats", {}],
        ];
        const send = async (path: string, body: object | Uint8Array) => {
          const answer = await caller.post(`/v1/table/${path}`, body);
          expect([path, answer.status, answer.text]).toEqual([path, 200, expect.anything()]);
          expect(answer.text).not.toContain(id);
          return answer;
        };
        await send("a/create", items(1));
        const source = { source_location: await locationOf("a"), is_shallow: false };
        await send("clone/clone", source);
        for (const [path, body] of requests) await send(path, body);
        const { json } = await send("a/deregister", {});
        await send("registered/register", { location: json.location });
        expect((await caller.get("/v1/table/")).text).not.toContain(id);
        await drop("clone", "declared", "registered");
      });

      it("for bytes, also while a body arrives and while a statement runs", async () => {
        const { caller } = await newCaller();
        await limited.setLimits({ roles: { write: { bytes: 200_000 } } });
        await caller.createTable("a", items(200));
        const long = items(20_000);
        expect(long.length).toBeGreaterThan(200_000);
        const larger =
          /the key \\"write\\" is at its storage limit: the rows are larger than its free bytes/;
        expectRefusal(await caller.post("/v1/table/a/insert", long), "bytes", larger);
        expectRefusal(await caller.post("/v1/table/b/create", long), "bytes", larger);
        await limited.client.createTable("long", long);
        expectRefusal(await sql(caller, "INSERT INTO a SELECT * FROM long"), "bytes", larger);
        expect(await limited.client.count("a")).toBe(200);
        await limited.setLimits({ roles: { write: { bytes: 1_000 } } });
        const full = /the tables that it created have \d+ of 1000 bytes/;
        expectRefusal(await insert(caller, "a"), "bytes", full);
        await drop("a", "long");
      });
    });
  },
);
