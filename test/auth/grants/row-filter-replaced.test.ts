/** Another table gets the name of a table that a caller has just read: no cached decision gives it more rows. */
import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";
import { FILTER, ids, path, rowsOf, sql, tenantTable } from "./tenants.js";

const joust = setupServer();
const granted = setupGrants(joust);
const namespace = { kind: "namespace", path: ["f"] } as const;

beforeAll(() => joust.client.createNamespace("f"));

interface Replacement {
  readonly name: string;
  /** The grants on the table end with it. */
  readonly endsGrants: boolean;
  readonly replace: (name: string) => Promise<void>;
}

const few = () => rowsOf([0, 1, 2, 3]);

const replacements: readonly Replacement[] = [
  {
    name: "a table that is made after the former one was dropped",
    endsGrants: true,
    async replace(name) {
      await joust.client.ok(path(name, "drop"));
      await joust.client.createTable(name, few());
    },
  },
  {
    name: "a table that is renamed after the former one was dropped",
    endsGrants: true,
    async replace(name) {
      const other = await tenantTable(joust);
      await joust.client.ok(path(name, "drop"));
      const to = { new_table_name: name.slice(2), new_namespace_id: ["f"] };
      await joust.client.ok(path(other, "rename"), to);
    },
  },
  {
    name: "a table with other rows after an overwrite",
    endsGrants: false,
    async replace(name) {
      await joust.client.createTable(name, few(), { mode: "overwrite" });
    },
  },
];

/** What a caller reads of a table, in each way; undefined: it does not exist for the caller. */
async function readBy(client: Client, name: string): Promise<(number[] | undefined)[]> {
  const query = await client.post(path(name, "query"), { k: 1 });
  const found = await sql(client, `SELECT id FROM f.${name.slice(2)} ORDER BY id`);
  return [
    query.status === 404 ? undefined : await ids(client, name),
    found.status === 404 ? undefined : found.json.rows.map(({ id }: { id: number }) => id),
  ];
}

describe.each(replacements)("$name", ({ endsGrants, replace }) => {
  it("has the rows of the grants that are left, also for a caller that has just read it", async () => {
    const name = await tenantTable(joust);
    const { client, id } = await granted.filteredCaller(`namespace:f`, ["select"], FILTER);
    const table = { kind: "table", id: name.split("$") } as const;
    // All rows, by a grant that ends with the table.
    await granted.grants.grant(`key:${id}`, table, ["select"]);
    for (let asked = 0; asked < 3; asked++) {
      for (const read of await readBy(client, name)) expect(read).toHaveLength(12);
    }
    await replace(name);
    const all = await ids(joust.client, name);
    for (let asked = 0; asked < 3; asked++) {
      for (const read of await readBy(client, name)) {
        expect(read).toEqual(endsGrants ? all.filter((one) => one % 3 === 0) : all);
      }
    }
  });

  it("has the filter of a grant on its namespace at once", async () => {
    const name = await tenantTable(joust);
    const { client, id } = await granted.caller({ "namespace:f": ["select"] });
    for (let asked = 0; asked < 3; asked++) {
      for (const read of await readBy(client, name)) expect(read).toHaveLength(12);
    }
    await granted.grants.grant(`key:${id}`, namespace, ["select"], "id < 2");
    for (const read of await readBy(client, name)) expect(read).toEqual([0, 1]);
    await replace(name);
    for (const read of await readBy(client, name)) expect(read).toEqual([0, 1]);
    await granted.grants.revoke(`key:${id}`, namespace, ["select"]);
    expect(await readBy(client, name)).toEqual([undefined, undefined]);
  });

  it("has a filter of the table itself only if the grant is left", async () => {
    const name = await tenantTable(joust);
    const { client } = await granted.filteredCaller(`table:${name}`, ["select"], FILTER);
    for (const read of await readBy(client, name)) expect(read).toEqual([0, 3, 6, 9]);
    await replace(name);
    const expected = endsGrants ? undefined : [0, 3];
    for (const read of await readBy(client, name)) expect(read).toEqual(expected);
  });
});

it("a table without the column of the filter after an overwrite shows nothing", async () => {
  const name = await tenantTable(joust);
  const { client } = await granted.filteredCaller(`table:${name}`, ["select"], FILTER);
  expect(await ids(client, name)).toEqual([0, 3, 6, 9]);
  const rows = stream({ id: [type.i32, [1, 2]] });
  await joust.client.createTable(name, rows, { mode: "overwrite" });
  const denied = /row filter of your grant does not apply/;
  expectFailure(await client.post(path(name, "query"), { k: 1 }), 403, 15, denied);
  expect((await sql(client, `SELECT id FROM f.${name.slice(2)}`)).status).toBe(403);
});
