import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { type Server, startServer } from "../../harness/server.js";
import { removeDir, tempDir } from "../../harness/temp.js";

/** Two servers on one root: a change can also conflict with the other server. */
let servers: Server[] = [];
const root = tempDir("columns");

beforeAll(async () => {
  for (const _ of [1, 2]) servers.push(await startServer({ root }));
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  servers = [];
  removeDir(root);
});

const client = (n: number): Client => (servers[n % servers.length] as Server).client;

/**
 * Inserts rows with the initial columns from several clients while `work` runs; returns the number of inserts.
 * The first commit of two servers wins, so each client pauses for this many ms between two inserts.
 */
async function duringInserts(
  table: string,
  inserting: readonly Client[],
  work: () => Promise<void>,
  pause = 0,
): Promise<number> {
  let inserts = 0;
  let ended = false;
  const insert = async (by: Client, place: number) => {
    for (let n = 0; !ended; n++) {
      const rows = items(2, { from: 1_000_000 * (place + 1) + 2 * n });
      const reply = await by.post(`/v1/table/${table}/insert`, rows);
      // The other server committed first too often.
      if (reply.status !== 409) expect([reply.status, reply.text]).toEqual([200, reply.text]);
      if (reply.status === 200) inserts++;
      if (pause > 0) await delay(pause);
    }
  };
  const clients = inserting.map(insert);
  try {
    await work();
  } finally {
    ended = true;
    await Promise.all(clients);
  }
  return inserts;
}

describe.each([
  ["one client", 1, 1, 0],
  ["five clients", 5, 1, 0],
  ["two clients on two servers", 2, 2, 150],
  ["five clients on two servers", 5, 2, 0],
] as const)("during inserts by %s", (_, clients, over, pause) => {
  const inserting = () => Array.from({ length: clients }, (_, n) => client(n % over));
  const table = `beside_${clients}_${over}`;

  it("every column change takes effect and no row is lost", { timeout: 120_000 }, async () => {
    const { client: changing } = servers[0] as Server;
    await changing.createTable(table, items(500));
    const post = (operation: string, body: object) =>
      changing.post(`/v1/table/${table}/${operation}`, body);
    const answers: [string, number, string][] = [];
    const change = async (operation: string, body: object) => {
      const reply = await post(operation, body);
      answers.push([operation, reply.status, reply.status === 200 ? "" : reply.text]);
    };
    const inserts = await duringInserts(
      table,
      inserting(),
      async () => {
        for (let n = 0; n < 6; n++) {
          const added = { name: `a${n}`, expression: "id * 2" };
          await change("add_columns", { new_columns: [added, { ...added, name: `d${n}` }] });
          await change("add_columns", { new_columns: [{ name: `c${n}`, computed: "id + 1" }] });
          await change("alter_columns", { alterations: [{ path: `a${n}`, rename: `b${n}` }] });
          await change("alter_columns", {
            alterations: [{ path: `b${n}`, data_type: { type: "int32" } }],
          });
          await change("drop_columns", { columns: [`d${n}`] });
          await change("update_field_metadata", {
            updates: [{ path: `b${n}`, metadata: { unit: String(n) } }],
          });
        }
      },
      pause,
    );
    expect(answers.filter(([, status]) => status !== 200)).toEqual([]);
    expect(answers).toHaveLength(36);
    // On a fast machine the changes end after a few pauses.
    expect(inserts).toBeGreaterThan(pause > 0 ? 2 : 10);

    expect(await changing.count(table)).toBe(500 + 2 * inserts);
    for (let n = 0; n < 6; n++) {
      const whole = { predicate: `id < 500 and b${n} = id * 2 and c${n} is null` };
      expect(await changing.count(table, whole)).toBe(500);
      // A row inserted before the column was added has its value, and a later row has null.
      const half = { predicate: `b${n} is not null and b${n} <> id * 2` };
      expect(await changing.count(table, half)).toBe(0);
    }
    const { schema } = await changing.ok(`/v1/table/${table}/describe`);
    const names = schema.fields.map(({ name }: { name: string }) => name);
    expect(names.filter((name: string) => /^[ad]\d$/.test(name))).toEqual([]);
    const last = { predicate: "b0 is not null" };
    const filled = await Promise.all(
      [0, 5].map((n) => changing.count(table, { predicate: `b${n} is not null` })),
    );
    expect(filled[1]).toBeGreaterThanOrEqual(filled[0] as number);
    expect(await changing.count(table, last)).toBeGreaterThanOrEqual(500);
  });
});

it("an invalid column change is rejected at once, also during inserts", async () => {
  const { client: changing } = servers[0] as Server;
  await changing.createTable("refusing", items(10));
  await duringInserts("refusing", [client(0), client(1)], async () => {
    const post = (operation: string, body: object) =>
      changing.post(`/v1/table/refusing/${operation}`, body);
    const taken = { new_columns: [{ name: "price", expression: "1.0" }] };
    expect((await post("add_columns", taken)).json).toMatchObject({ code: 13 });
    const unknown = { alterations: [{ path: "nope", rename: "x" }] };
    expect((await post("alter_columns", unknown)).json).toMatchObject({ code: 12 });
    expect((await post("drop_columns", { columns: ["nope"] })).json).toMatchObject({ code: 12 });
  });
});

it("concurrent changes of columns and metadata all take effect", async () => {
  await client(0).createTable("together", items(100));
  const updated = Array.from({ length: 8 }, (_, n) => {
    const updates = [{ path: "id", metadata: { [`key${n}`]: String(n) } }];
    return client(n).post("/v1/table/together/update_field_metadata", { updates });
  });
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      client(n).post("/v1/table/together/add_columns", {
        new_columns: [
          n % 3 === 0
            ? { name: `n${n}`, computed: "id" }
            : { name: `n${n}`, expression: `id + ${n}` },
        ],
      }),
    ),
  );
  for (const one of await Promise.all(updated))
    expect([one.status, one.text]).toEqual([200, one.text]);
  expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(200));
  const versions = replies.map(({ json }) => json.version);
  expect(new Set(versions).size).toBe(8);
  for (let n = 0; n < 8; n++) {
    const predicate = n % 3 === 0 ? `n${n} is null` : `n${n} = id + ${n}`;
    expect(await client(1).count("together", { predicate })).toBe(100);
  }
  const { schema } = await client(0).ok("/v1/table/together/describe");
  const { metadata } = schema.fields.find(({ name }: { name: string }) => name === "id");
  for (let n = 0; n < 8; n++) expect(metadata[`key${n}`]).toBe(String(n));
});
