/** The change feed of a caller with a row filter is that of a table that has only the visible rows. */
import { setTimeout as sleep } from "node:timers/promises";
import { tableFromIPC } from "apache-arrow";
import fc from "fast-check";
import { expect, it } from "vitest";
import { tableObject } from "../../../src/catalog/grants/grants.js";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { change, expectedRows, Replica, step } from "../../operations/rows/change-replica.js";
import { setupGrants } from "./grant-callers.js";

const joust = setupServer();
const granted = setupGrants(joust);

/** A caller that sees the rows of a table for which the filter is true. */
async function callerOf(table: string, filter: string): Promise<{ client: Client; id: string }> {
  const caller = await granted.caller();
  await granted.grants.grant(`key:${caller.id}`, tableObject([table]), ["select"], filter);
  return caller;
}

const changesOf = async (client: Client, table: string, body: object): Promise<string[]> => {
  const reply = await client.post(`/v1/table/${table}/changes`, body);
  expect([reply.status, reply.text]).toEqual([200, reply.text]);
  return [...tableFromIPC(reply.bytes)].map((row) => `${row._change} ${row.id}`);
};

it("reports rows that newly match the filter as inserted, and rows that no longer match as deleted", async () => {
  await joust.client.createTable("t", items(6));
  const { client } = await callerOf("t", "price < 100");
  const { version } = await joust.client.ok("/v1/table/t/describe");
  const update = (where: string, price: number) =>
    joust.client.ok("/v1/table/t/update", {
      predicate: where,
      updates: [["price", String(price)]],
    });
  await update("id = 1", 500);
  await update("id = 2", 7);
  const hidden = (await joust.client.ok("/v1/table/t/describe")).version;
  const changes = (from_version: number) => changesOf(client, "t", { from_version });
  expect((await changes(0)).sort()).toEqual([0, 2, 3, 4, 5].map((id) => `insert ${id}`));
  expect(await changes(version)).toEqual(["delete null", "update 2"]);
  await update("id = 1", 8);
  expect(await changes(hidden)).toEqual(["insert 1"]);
  // Between these versions it was hidden only for a time.
  expect((await changes(version)).sort()).toEqual(["update 1", "update 2"]);
  await joust.client.insert("t", items(2, { from: 1000 }));
  await joust.client.ok("/v1/table/t/delete", { predicate: "id >= 1000" });
  expect((await changes(version)).sort()).toEqual(["update 1", "update 2"]);
  await update("id = 3", 900);
  const far = (await joust.client.ok("/v1/table/t/describe")).version;
  await joust.client.ok("/v1/table/t/delete", { predicate: "id IN (3, 4)" });
  // The deletion of a hidden row is no change.
  expect(await changes(far)).toEqual(["delete null"]);
});

it("lets a replica follow any sequence of changes", async () => {
  let tables = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 15 }),
      fc.constantFrom("price < 8", "id IN (0, 3, 5, 9)", "id > 3 AND price < 20"),
      async (steps, filter) => {
        const table = `model${tables++}`;
        await joust.client.createTable(table, items(12));
        const { client } = await callerOf(table, filter);
        const replica = new Replica(client, table);
        for (const [at, step] of steps.entries()) {
          if (step.do === "read") await replica.read();
          else await change(joust.client, table, step, 12 + 4 * at);
        }
        await replica.read();
        expect([...replica.rows].sort()).toEqual(await expectedRows(client, table));
      },
    ),
    { numRuns: 25 },
  );
}, 180_000);

it("says so if the filter has changed while the request waited", async () => {
  await joust.client.createTable("w", items(3));
  const { client, id } = await callerOf("w", "id < 2");
  const { version } = await joust.client.ok("/v1/table/w/describe");
  const body = { from_version: version, wait_ms: 30_000 };
  const waiting = client.post("/v1/table/w/changes", body);
  expect(await Promise.race([waiting, sleep(1_000, "waits")])).toBe("waits");
  await granted.grants.grant(`key:${id}`, tableObject(["w"]), ["select"], "id < 1");
  await joust.client.insert("w", items(1, { from: 100 }));
  expectFailure(await waiting, 409, 19, /row filter of the caller has changed/);
});

it("does not continue a cursor of another filter", async () => {
  await joust.client.createTable("c", items(3));
  const { client, id } = await callerOf("c", "id < 2");
  const first = await client.post("/v1/table/c/changes", { from_version: 0 });
  const body = { cursor: first.headers.get("x-joust-cursor") };
  expect((await client.post("/v1/table/c/changes", body)).status).toBe(200);
  expectFailure(await joust.client.post("/v1/table/c/changes", body), 409, 19, /row filter/);
  await granted.grants.grant(`key:${id}`, tableObject(["c"]), ["select"], "id < 1");
  expectFailure(await client.post("/v1/table/c/changes", body), 409, 19, /row filter/);
});

it("needs the same columns of the filter, and does not name the changes of others", async () => {
  await joust.client.createTable("r", items(3));
  const { client, id } = await callerOf("r", "price < 100");
  const { version } = await joust.client.ok("/v1/table/r/describe");
  const rename = { alterations: [{ path: "price", rename: "cost" }] };
  await joust.client.ok("/v1/table/r/alter_columns", rename);
  await granted.grants.grant(`key:${id}`, tableObject(["r"]), ["select"], "cost < 100");
  const changes = () => client.post("/v1/table/r/changes", { from_version: version });
  expectFailure(await changes(), 409, 19, /the columns of the row filter include a change/);
  const added = { new_columns: [{ name: "twice", expression: "id * 2" }] };
  await joust.client.ok("/v1/table/r/add_columns", added);
  const refused = await changes();
  expectFailure(refused, 409, 19, /the versions include a change/);
  expect(refused.text).not.toMatch(/Merge/);
});

it("gives deleted rows of wide columns in small batches", async () => {
  await joust.client.createTable("d", items(3_000));
  const { client } = await callerOf("d", "id < 2900");
  const { version } = await joust.client.ok("/v1/table/d/describe");
  await joust.client.ok("/v1/table/d/delete", { predicate: "id < 2500 OR id > 2950" });
  const changes = await changesOf(client, "d", { from_version: version });
  expect(changes).toEqual(Array(2_500).fill("delete null"));
});
