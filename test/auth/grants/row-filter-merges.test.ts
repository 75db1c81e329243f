/** Merges of a caller with a row filter: as into a table that has only the visible rows. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";
import { FILTER, path, sql } from "./tenants.js";

const joust = setupServer();
const granted = setupGrants(joust);
const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);
const all = ["insert", "update", "delete"] as const;

interface Row {
  readonly id: number;
  readonly tenant: string | null;
  readonly value: string;
}

const ipc = (rows: readonly Row[]): Uint8Array =>
  stream({
    id: [type.i32, rows.map(({ id }) => id)],
    tenant: [type.text, rows.map(({ tenant }) => tenant)],
    value: [type.text, rows.map(({ value }) => value)],
  });

const rowsOf = async (client: Client, name: string): Promise<string[]> => {
  const found = await client.query(name, { k: 1000 });
  return found
    .toArray()
    .map(({ id, tenant, value }) => `${id} ${tenant} ${value}`)
    .sort();
};

const asText = ({ id, tenant, value }: Row) => `${id} ${tenant} ${value}`;

let number = 0;
async function makeTable(rows: readonly Row[], isIndexed = false): Promise<string> {
  number += 1;
  const name = `f$m${number}`;
  await joust.client.createTable(name, ipc(rows));
  if (isIndexed) {
    // Lance uses indexes if all keys of the merge have one, and the filter makes its column a key.
    for (const [column, index_type] of [
      ["id", "BTREE"],
      ["tenant", "BITMAP"],
    ]) {
      await joust.client.ok(path(name, "create_index"), { column, index_type });
      await waitForIndex(joust.client, name, `${column}_idx`);
    }
  }
  return name;
}

const merge = (
  client: Client,
  name: string,
  rows: readonly Row[],
  params: object,
  keys: readonly string[] = ["id"],
) => {
  const on = keys.map((key) => `on=${key}`).join("&");
  return client.post(`${path(name, "merge_insert")}?${on}`, ipc(rows), { ...params });
};

const upsert = { when_matched_update_all: "true", when_not_matched_insert_all: "true" };
const own = (id: number, value: string): Row => ({ id, tenant: "a", value });
const start: Row[] = [
  own(0, "a0"),
  { id: 1, tenant: "b", value: "b1" },
  { id: 2, tenant: null, value: "n2" },
  own(3, "a3"),
];

beforeAll(() => joust.client.createNamespace("f"));

describe("a merge under a row filter", () => {
  it("updates and inserts visible rows; a key of a hidden row matches nothing", async () => {
    const name = await makeTable(start);
    const { client } = await granted.filteredCaller(`table:${name}`, all, FILTER);
    const answer = await merge(client, name, [own(0, "x0"), own(1, "x1"), own(9, "x9")], upsert);
    expect(answer.json).toMatchObject({ num_updated_rows: 1, num_inserted_rows: 2 });
    expect(await rowsOf(joust.client, name)).toEqual(
      [start[1] as Row, start[2] as Row, own(3, "a3"), own(0, "x0"), own(1, "x1"), own(9, "x9")]
        .map(asText)
        .sort(),
    );
  });

  it("fails as a whole if the filter hides a row of the upload", async () => {
    const name = await makeTable(start);
    const { client } = await granted.filteredCaller(`table:${name}`, all, FILTER);
    const denied = /does not match the row filter of your grant/;
    for (const tenant of ["b", null]) {
      const rows = [own(0, "x"), { id: 3, tenant, value: "x" }];
      for (const params of [upsert, { when_matched_update_all: "true" }]) {
        expectFailure(await merge(client, name, rows, params), 403, 15, denied);
      }
    }
    const partial = stream({ id: [type.i32, [0]], value: [type.text, ["x"]] });
    const params = { on: "id", when_matched_update_all: "true" };
    const answer = await client.post(path(name, "merge_insert"), partial, params);
    expectFailure(answer, 403, 15, denied);
    expect(await rowsOf(joust.client, name)).toEqual(start.map(asText).sort());
  });

  it("deletes only visible rows without a match, under any filter", async () => {
    const name = await makeTable(start);
    const filter = "tenant <> 'b'";
    const { client } = await granted.filteredCaller(`table:${name}`, ["delete"], filter);
    const keys = stream({ id: [type.i32, [3]] });
    const params = { on: "id", when_not_matched_by_source_delete: "true" };
    const answer = await client.post(path(name, "merge_insert"), keys, params);
    expect(answer.json).toMatchObject({ num_deleted_rows: 1 });
    expect(await joust.client.count(name)).toBe(3);
    const calculated = { on: "id", when_not_matched_by_source_delete_filt: "1 / (id - 1) < 5" };
    const refused = await client.post(path(name, "merge_insert"), keys, calculated);
    expectFailure(refused, 400, 13, /nothing that can fail/);
  });

  it.each([false, true])(
    "evaluates its condition for visible rows only (index: %s)",
    async (isIndexed) => {
      // The condition fails for each row but the visible one that matches.
      const name = await makeTable([...start.slice(0, 3), own(3, "3")], isIndexed);
      const { client } = await granted.filteredCaller(`table:${name}`, all, FILTER);
      const params = {
        when_matched_update_all_filt: "CAST(target.value AS INT) = 3",
        when_not_matched_insert_all: "true",
      };
      const answer = await merge(client, name, [own(1, "x1"), own(3, "x3")], params);
      expect([answer.status, answer.json]).toMatchObject([
        200,
        { num_updated_rows: 1, num_inserted_rows: 1 },
      ]);
      const failing = await merge(joust.client, name, [own(1, "y1")], params);
      expect(failing.status).toBe(400);
    },
  );

  it.each([
    { filter: FILTER, keys: ["id"], isIndexed: false },
    { filter: FILTER, keys: ["id"], isIndexed: true },
    { filter: "tenant IN ('a', 'c')", keys: ["id", "tenant"], isIndexed: false },
    { filter: "tenant IN ('a', 'c')", keys: ["id", "tenant"], isIndexed: true },
  ])(
    "evaluates a condition over the source for matched rows only, also if it deletes ($filter, index: $isIndexed)",
    async ({ filter, keys, isIndexed }) => {
      const rows = [own(1, "a1"), { id: 2, tenant: "b", value: "b2" }, own(3, "a3"), own(4, "a4")];
      const name = await makeTable(rows, isIndexed);
      const { client } = await granted.filteredCaller(`table:${name}`, all, filter);
      const params = {
        // It fails for a row of the table without a row of the upload.
        when_matched_update_all_filt: "1 / (1 - CAST(source.id IS NULL AS INT)) >= 0",
        when_not_matched_by_source_delete_filt: "id < 0",
      };
      const upload = [1, 3, 4].map((id) => own(id, "x"));
      // Whether Lance evaluates the condition for all rows differs from one merge to the next.
      for (let time = 0; time < 10; time++) {
        const answer = await merge(client, name, upload, params, keys);
        expect([answer.status, answer.json]).toMatchObject([200, { num_updated_rows: 3 }]);
      }
      expect(await rowsOf(joust.client, name)).toEqual(["1 a x", "2 b b2", "3 a x", "4 a x"]);
    },
  );

  it("refuses a blank condition for a deletion", async () => {
    const name = await makeTable(start);
    const { client } = await granted.filteredCaller(`table:${name}`, all, FILTER);
    for (const condition of [" ", "\t\n"]) {
      const params = { when_not_matched_by_source_delete_filt: condition };
      for (const caller of [client, joust.client]) {
        expectFailure(await merge(caller, name, [own(0, "x")], params), 400, 13);
      }
    }
    expect(await rowsOf(joust.client, name)).toEqual(start.map(asText).sort());
  });

  it("is refused if the filter reads another column than its keys, and gives none one value", async () => {
    const name = await makeTable(start);
    for (const filter of ["tenant IN ('a', 'b')", "tenant > 'a'", "tenant = 'a' OR id = 1"]) {
      const { client } = await granted.filteredCaller(`table:${name}`, all, filter);
      const answer = await merge(client, name, [own(0, "x")], upsert);
      expectFailure(answer, 403, 15, /must have the form `column = value`/);
    }
    const { client } = await granted.filteredCaller(
      `table:${name}`,
      all,
      "tenant = 'a' AND id = 0",
    );
    expect((await merge(client, name, [own(0, "x")], upsert)).json.num_updated_rows).toBe(1);
  });

  it("may have any filter over its keys", async () => {
    const other = { id: 5, tenant: "c", value: "c5" };
    const name = await makeTable([...start, other]);
    const filter = "tenant IN ('a', 'b') OR tenant IS NULL AND id < 9";
    const { client } = await granted.filteredCaller(`table:${name}`, all, filter);
    const keys = ["id", "tenant"];
    const rows = [own(0, "x0"), { id: 1, tenant: "b", value: "y1" }, own(5, "x5")];
    const answer = await merge(client, name, rows, upsert, keys);
    expect([answer.status, answer.json]).toMatchObject([
      200,
      { num_updated_rows: 2, num_inserted_rows: 1 },
    ]);
    const hidden = await merge(client, name, [{ ...other, value: "x" }], upsert, keys);
    expectFailure(hidden, 403, 15, /does not match the row filter of your grant/);
    const expected = [...start.slice(2), other, ...rows].map(asText).sort();
    expect(await rowsOf(joust.client, name)).toEqual(expected);
    expectFailure(await merge(client, name, rows, upsert), 403, 15, /a key of the merge/);
    const others = await granted.filteredCaller(`table:${name}`, all, "lower(value) > 'a'");
    const refused = await merge(others.client, name, rows, upsert, keys);
    expectFailure(refused, 403, 15, /a key of the merge/);
  });

  it("under any filter over its keys evaluates its conditions for visible rows only", async () => {
    const hidden = { id: 5, tenant: "c", value: "no number" };
    const name = await makeTable([own(0, "0"), hidden, own(3, "3"), own(4, "4")]);
    const filter = "tenant IN ('a', 'b')";
    const { client } = await granted.filteredCaller(`table:${name}`, all, filter);
    const params = {
      when_matched_update_all_filt: "CAST(target.value AS INT) >= 3",
      when_not_matched_insert_all: "true",
      when_not_matched_by_source_delete_filt: "id >= 4",
    };
    const rows = [own(0, "x0"), own(3, "33"), own(5, "55")];
    const answer = await merge(client, name, rows, params, ["id", "tenant"]);
    expect([answer.status, answer.json]).toMatchObject([
      200,
      { num_updated_rows: 1, num_inserted_rows: 1, num_deleted_rows: 1 },
    ]);
    expect(await rowsOf(joust.client, name)).toEqual(
      [own(0, "0"), own(3, "33"), own(5, "55"), hidden].map(asText).sort(),
    );
  });

  it("needs the same filter for each of its privileges", async () => {
    const name = await makeTable(start);
    const object = { kind: "table", id: name.split("$") } as const;
    const { client, id } = await granted.filteredCaller(`table:${name}`, ["update"], FILTER);
    const subject = `key:${id}`;
    await granted.grants.grant(subject, object, ["insert"], "tenant = 'b'");
    expectFailure(await merge(client, name, [own(0, "x")], upsert), 403, 15, /for all rows/);
    // A privilege without a filter gets that of the others.
    await granted.grants.grant(subject, object, ["insert"]);
    const answer = await merge(client, name, [own(0, "x"), own(1, "y")], upsert);
    expect(answer.json).toMatchObject({ num_updated_rows: 1, num_inserted_rows: 1 });
    const other = [{ id: 7, tenant: "b", value: "z" }];
    expect((await merge(client, name, other, upsert)).status).toBe(403);
  });

  it("tells a caller with a filtered select nothing about the keys of hidden rows", async () => {
    const name = await makeTable(start);
    const { client, id } = await granted.filteredCaller(`table:${name}`, ["select"], FILTER);
    const object = { kind: "table", id: name.split("$") } as const;
    await granted.grants.grant(`key:${id}`, object, ["insert"]);
    const insert = { when_not_matched_insert_all: "true" };
    const answer = await merge(client, name, [own(0, "x"), own(1, "y")], insert);
    expect(answer.json).toMatchObject({ num_inserted_rows: 1 });
    expect(await client.count(name)).toBe(3);
  });

  it("that only inserts has no filter for a caller that may insert all rows and read none", async () => {
    const name = await makeTable(start);
    const { client, id } = await granted.filteredCaller(`table:${name}`, ["update"], FILTER);
    const object = { kind: "table", id: name.split("$") } as const;
    await granted.grants.grant(`key:${id}`, object, ["insert"]);
    const insert = { when_not_matched_insert_all: "true" };
    const answer = await merge(client, name, [own(0, "x"), own(1, "y"), own(8, "z")], insert);
    expect(answer.json).toMatchObject({ num_inserted_rows: 1 });
    expect(await joust.client.count(name)).toBe(start.length + 1);
  });

  it("through SQL has the same filter", async () => {
    const name = await makeTable(start);
    const source = await makeTable([own(0, "s0"), own(1, "s1")]);
    const { client, id } = await granted.filteredCaller(`table:${name}`, all, FILTER);
    const object = { kind: "table", id: source.split("$") } as const;
    await granted.grants.grant(`key:${id}`, object, ["select"]);
    const merged = await sql(
      client,
      `MERGE INTO f.${name.slice(2)} t USING f.${source.slice(2)} s ON t.id = s.id
       WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *`,
    );
    expect([merged.status, merged.text]).toEqual([200, expect.any(String)]);
    expect(await rowsOf(joust.client, name)).toEqual(
      [own(0, "s0"), own(1, "s1"), ...start.slice(1)].map(asText).sort(),
    );
  });
});

const id = fc.integer({ min: 0, max: 12 });
const anyRows = fc.uniqueArray(
  fc.record({ id, tenant: fc.constantFrom("a", "b", null), value: fc.constantFrom("x", "y") }),
  { selector: (row) => row.id, minLength: 1, maxLength: 12 },
);
const options = fc
  .record({
    when_matched_update_all: fc.constantFrom(undefined, "true"),
    when_not_matched_insert_all: fc.constantFrom(undefined, "true"),
    when_not_matched_by_source_delete_filt: fc.constantFrom(undefined, "id > 4", "value = 'x'"),
  })
  .map((chosen) => JSON.parse(JSON.stringify(chosen)) as Record<string, string>)
  .filter((chosen) => Object.keys(chosen).length > 0);

it.each([
  { filter: FILTER, keys: ["id"], shows: ({ tenant }: Row) => tenant === "a" },
  {
    filter: "tenant > 'a' OR tenant IS NULL AND id < 8",
    keys: ["tenant", "id"],
    shows: ({ tenant, id }: Row) => tenant === "b" || (tenant === null && id < 8),
  },
])(
  `random merges under $filter do what they do to the visible rows alone (TEST_SEED=${seed})`,
  async ({ filter, keys, shows }) => {
    await fc.assert(
      fc.asyncProperty(
        anyRows,
        anyRows,
        options,
        fc.boolean(),
        async (rows, sent, params, index) => {
          const visible = rows.filter(shows);
          const hidden = rows.filter((row) => !shows(row));
          fc.pre(visible.length > 0);
          const source = sent.map((row): Row => {
            const value = `new ${row.value}`;
            return shows(row)
              ? { ...row, value }
              : { ...row, tenant: filter === FILTER ? "a" : "b", value };
          });
          const [full, alone] = [await makeTable(rows, index), await makeTable(visible, index)];
          const { client } = await granted.filteredCaller(`table:${full}`, all, filter);
          const answer = await merge(client, full, source, params, keys);
          const oracle = await merge(joust.client, alone, source, params, keys);
          const counts = ({ json }: typeof answer) => [
            json.num_updated_rows,
            json.num_inserted_rows,
            json.num_deleted_rows,
          ];
          expect([answer.status, ...counts(answer)]).toEqual([oracle.status, ...counts(oracle)]);
          const expected = [...(await rowsOf(joust.client, alone)), ...hidden.map(asText)].sort();
          expect(await rowsOf(joust.client, full)).toEqual(expected);
        },
      ),
      { seed, numRuns: 20, endOnFailure: true },
    );
  },
  120_000,
);
