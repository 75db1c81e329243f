/** What a caller with a row filter reads, and what it may not learn. */
import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";
import { column, FILTER, ids, path, rowsOf, sql, tenantTable } from "./tenants.js";

const joust = setupServer();
const granted = setupGrants(joust);
let number = 0;
const table = () => tenantTable(joust);

beforeAll(() => joust.client.createNamespace("f"));

describe("a filtered select", () => {
  let client: Client;
  let name: string;
  beforeAll(async () => {
    name = await table();
    ({ client } = await granted.filteredCaller(`table:${name}`, ["select"], FILTER));
  });

  it("shows the rows of the filter and hides those for which it is null", async () => {
    expect(await ids(client, name)).toEqual([0, 3, 6, 9]);
    expect(await ids(client, name, { filter: "id > 3" })).toEqual([6, 9]);
    expect(await ids(client, name, { filter: "id = 1" })).toEqual([]);
    expect(await client.count(name)).toBe(4);
    expect(await client.count(name, { predicate: "id < 5" })).toBe(2);
  });

  it("finds k visible rows although hidden ones are nearer", async () => {
    for (const more of [{}, { bypass_vector_index: true }, { filter: "id >= 0" }]) {
      const found = await client.query(name, { vector: [1, 0], k: 3, ...more });
      expect(column(found, "id")).toEqual([0, 3, 6]);
      expect(column(found, "_distance")).toEqual([1, 4, 25]);
    }
    const several = await client.query(name, {
      vector: [
        [1, 0],
        [8, 0],
      ],
      k: 1,
    });
    expect(column(several, "id")).toEqual([0, 9]);
  });

  it("applies to old versions and to branches", async () => {
    const own = await table();
    const { client } = await granted.filteredCaller(`table:${own}`, ["select"], FILTER);
    await joust.client.ok(path(own, "branches/create"), { name: "side" });
    await joust.client.ok(path(own, "delete"), { predicate: "id = 0" });
    expect(await ids(client, own)).toEqual([3, 6, 9]);
    expect(await ids(client, own, { version: 1 })).toEqual([0, 3, 6, 9]);
    expect(await ids(client, own, { branch: "side" })).toEqual([0, 3, 6, 9]);
    expect(await client.count(own, { version: 1 })).toBe(4);
    expect(await client.count(own, { branch: "side" })).toBe(4);
  });

  it.each([
    "id = 1) OR (true",
    "true) OR (tenant = 'b'",
    "id = 1 OR true) --",
    "true --",
    "true /*",
    "true; DELETE FROM t",
    "') OR ('' = '",
    "tenant = 'b' OR tenant IS NULL",
    "true",
    "NOT false",
    "_rowid = 1",
    "_rowid >= 0",
  ])("shows no hidden row to the filter %j", async (filter) => {
    const answer = await client.post(path(name, "query"), { k: 100, filter });
    if (answer.status === 200) {
      const visible = await ids(client, name, { filter });
      for (const id of visible) expect(id % 3).toBe(0);
    } else expect(answer.status).toBe(400);
    const count = await client.post(path(name, "count_rows"), { predicate: filter });
    if (count.status === 200) expect(count.json).toBeLessThanOrEqual(4);
    else expect(count.status).toBe(400);
  });

  it.each([
    "CAST(secret AS INT) >= 0",
    "1 / (id - 1) < 5",
    "id % (id - 1) = 0",
    "secret ~ '^w'",
    "CASE WHEN tenant = 'b' THEN 1 / 0 ELSE 1 END = 1",
    "secret + 0 = 1",
    "secret < 5",
    "CAST(tenant AS DATE) IS NULL",
    "regexp_like(secret, secret)",
    "substr(secret, id - 100) = ''",
    "random() > 0.5",
  ])("tells nothing about hidden rows through a failure of %j", async (filter) => {
    // The same answer from a table that has no hidden row.
    const own = `f$own${++number}`;
    await joust.client.createTable(own, rowsOf([0, 3, 6, 9]));
    const { client: other } = await granted.filteredCaller(`table:${own}`, ["select"], FILTER);
    for (const [call, body] of [
      ["query", { k: 100, filter, columns: { column_names: ["id"] } }],
      ["count_rows", { predicate: filter }],
    ] as const) {
      const [one, two] = await Promise.all([
        client.post(path(name, call), body),
        other.post(path(own, call), body),
      ]);
      expect(one.status).toBe(two.status);
      if (one.status !== 200) expect(one.json.detail).toBe(two.json.detail);
    }
  });

  it("accepts conditions that fail for no value", async () => {
    for (const [filter, expected] of [
      ["id BETWEEN 3 AND 8", [3, 6]],
      ["id IN (0, 1, 9)", [0, 9]],
      ["secret LIKE '%6'", [6]],
      ["NOT (id = 3) AND secret IS NOT NULL", [0, 6, 9]],
      ["lower(secret) = '3' OR starts_with(secret, '9')", [3, 9]],
    ] as const) {
      expect(await ids(client, name, { filter })).toEqual(expected);
    }
  });

  it("computes columns for visible rows only", async () => {
    const columns = { column_aliases: { x: "30 / (id - 1)", y: "CAST(secret AS INT)" } };
    for (const more of [
      {},
      { filter: "id < 9" },
      { vector: [1, 0] },
      { order_by: [{ column_name: "id" }] },
    ]) {
      const found = await client.query(name, { k: 100, columns, ...more });
      expect(column(found, "y")).toEqual("filter" in more ? [0, 3, 6] : [0, 3, 6, 9]);
    }
  });

  it("refuses a filter after the search", async () => {
    const body = { vector: [1, 0], k: 3, filter: "id > 0", prefilter: false };
    expectFailure(await client.post(path(name, "query"), body), 400, 13, /`prefilter` is false/);
    expect(await ids(client, name, { vector: [1, 0], prefilter: false })).toEqual([0, 3, 6, 9]);
  });

  it("does not suffice to create a view or a clone of the table", async () => {
    const denied = /needs the privilege select on it/;
    const { client: maker, id } = await granted.caller({ "namespace:f": ["create"] });
    await granted.grants.grant(
      `key:${id}`,
      { kind: "table", id: name.split("$") },
      ["select"],
      FILTER,
    );
    const view = await maker.post(`/v1/materialized_view/f%24v/create`, {
      query: `SELECT id FROM "${name}"`,
    });
    expectFailure(view, 403, 15, denied);
    const { location } = await joust.client.ok(path(name, "describe"));
    const clone = await maker.post(path("f$clone", "clone"), { source_location: location });
    expectFailure(clone, 403, 15, denied);
    expect(await maker.count(name)).toBe(4);
  });

  it("describes the table without counts, and refuses other work on it", async () => {
    const described = await client.ok(path(name, "describe"));
    expect(described.stats).toBeUndefined();
    expect(described.schema.fields).toHaveLength(4);
    expect((await client.ok(path(name, "describe"))).stats).toBeUndefined();
    expect((await joust.client.ok(path(name, "describe"))).stats).toBeDefined();
    expect((await client.post(path(name, "exists"))).status).toBe(200);
    expect((await client.get("/v1/table")).json.tables).toContain(name);
    for (const call of ["stats", "index/list", "version/list", "tags/list"]) {
      const answer = await client.post(path(name, call), {});
      expect([call, answer.status]).toEqual([call, 403]);
      expectFailure(
        answer,
        403,
        15,
        /for all rows: it does not support the row filter of a grant$/,
      );
    }
  });
});

describe("filters of several grants", () => {
  it("combine with OR, also those of the objects that contain the table", async () => {
    const name = await table();
    const { client, id } = await granted.filteredCaller(`table:${name}`, ["select"], FILTER);
    const subject = `key:${id}`;
    await granted.grants.grant(subject, { kind: "namespace", path: ["f"] }, ["select"], "id = 1");
    expect(await ids(client, name)).toEqual([0, 1, 3, 6, 9]);
    await granted.grants.grant(
      subject,
      { kind: "server" },
      ["select"],
      "tenant IS NULL AND id > 5",
    );
    expect(await ids(client, name)).toEqual([0, 1, 3, 6, 8, 9, 11]);
    await granted.grants.grant(subject, { kind: "namespace", path: ["f"] }, ["select"]);
    expect(await ids(client, name)).toHaveLength(12);
    expect((await sql(client, `SELECT id FROM f.${name.slice(2)}`)).status).toBe(200);
  });

  // DataFusion takes these joined lists for true, also where the tenant is null.
  it("hide a row whose column is null from lists that exclude each other", async () => {
    const name = await table();
    const object = `table:${name}`;
    const { client, id } = await granted.filteredCaller(object, ["select"], "tenant NOT IN ('a')");
    const where = { kind: "namespace", path: ["f"] } as const;
    await granted.grants.grant(`key:${id}`, where, ["select"], "tenant NOT IN ('b')");
    const known = [0, 1, 3, 4, 6, 7, 9, 10];
    expect(await ids(client, name)).toEqual(known);
    const contrary = "NOT (tenant IN ('a', 'b') AND tenant IN ('c', 'd'))";
    const other = await granted.filteredCaller(object, ["select"], contrary);
    expect(await ids(other.client, name)).toEqual(known);
    expect(await other.client.count(name)).toBe(known.length);
  });

  it("of one privilege on one object replace each other", async () => {
    const name = await table();
    const { client, id } = await granted.filteredCaller(`table:${name}`, ["select"], FILTER);
    const object = { kind: "table", id: name.split("$") } as const;
    const grant = (filter?: string) =>
      granted.grants.grant(`key:${id}`, object, ["select"], filter);
    expect(await grant(FILTER)).toEqual([]);
    expect(await grant("id = 7")).toEqual(["select"]);
    expect(await ids(client, name)).toEqual([7]);
    expect(await grant()).toEqual(["select"]);
    expect(await ids(client, name)).toHaveLength(12);
    expect(await grant("id = 7")).toEqual(["select"]);
    expect(await ids(client, name)).toEqual([7]);
    await granted.grants.revoke(`key:${id}`, object, ["select"]);
    expect((await client.post(path(name, "count_rows"))).status).toBe(404);
  });

  it("fail closed where they do not apply", async () => {
    const name = await table();
    const { client } = await granted.filteredCaller("namespace:f", ["select", "delete"], FILTER);
    const closed = async (target: string) => {
      for (const [call, body] of [
        ["query", { k: 10 }],
        ["query", { k: 10, vector: [1, 0] }],
        ["count_rows", {}],
        ["delete", { predicate: "true" }],
      ] as const) {
        const answer = await client.post(path(target, call), body);
        expectFailure(answer, 403, 15, /row filter of your grant does not apply/);
      }
    };
    expect(await client.count(name)).toBe(4);
    await joust.client.createTable(
      "f$other",
      stream({ id: [type.i32, [1]], vector: [type.vector(2), [[1, 0]]] }),
    );
    await closed("f$other");
    await joust.client.ok(path(name, "alter_columns"), {
      alterations: [{ path: "tenant", rename: "owner" }],
    });
    await closed(name);
    const dropped = await table();
    await joust.client.ok(path(dropped, "drop_columns"), { columns: ["tenant"] });
    await closed(dropped);
    await joust.client.ok(path("f$declared", "declare"), {});
    const declared = await client.post(path("f$declared", "query"), { k: 1 });
    expectFailure(declared, 403, 15, /has no version yet/);
  });

  it("of a dropped table do not apply to its successor", async () => {
    const name = await table();
    const { client } = await granted.filteredCaller(`table:${name}`, ["select"], FILTER);
    expect(await client.count(name)).toBe(4);
    await joust.client.ok(path(name, "drop"));
    await joust.client.createTable(name, rowsOf([0, 1]));
    expect((await client.post(path(name, "count_rows"))).status).toBe(404);
  });
});
