/** What a caller with a row filter may do, and what it may not learn. */
import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../harness/arrow.js";
import { createKey, runCli } from "../../harness/cli.js";
import type { Answer, Client, Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";

const joust = setupServer();
const granted = setupGrants(joust);
const FILTER = "tenant = 'a'";

/** Rows of the tenants a, b and none in turn. */
const rowsOf = (ids: readonly number[], tenants?: readonly (string | null)[]) =>
  stream({
    id: [type.i32, ids],
    tenant: [type.text, ids.map((id, at) => (tenants ? tenants[at] : ["a", "b", null][id % 3]))],
    secret: [type.text, ids.map((id) => (id % 3 === 0 ? `${id}` : `word${id}`))],
    vector: [type.vector(2), ids.map((id) => [id, 0])],
  });

const path = (table: string, call: string) => `/v1/table/${encodeURIComponent(table)}/${call}`;
let number = 0;
async function table(): Promise<string> {
  number += 1;
  const name = `f$t${number}`;
  await joust.client.createTable(name, rowsOf([...Array(12).keys()]));
  return name;
}
const column = (found: Awaited<ReturnType<Client["query"]>>, name: string): number[] =>
  [...(found.getChild(name) ?? [])].map(Number).sort((a, b) => a - b);
const ids = async (client: Client, name: string, body: object = {}): Promise<number[]> => {
  const found = await client.query(name, { k: 100, columns: { column_names: ["id"] }, ...body });
  return column(found, "id");
};
const sql = (client: Client, query: string): Promise<Answer> =>
  client.request("/v1/sql", { body: { query }, headers: { accept: "application/json" } });

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
    for (const call of ["stats", "index/list", "version/list", "explain_plan", "tags/list"]) {
      const answer = await client.post(path(name, call), { query: { k: 1 } });
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

describe("writes", () => {
  it("delete only visible rows and count only those", async () => {
    const name = await table();
    const { client } = await granted.filteredCaller(`table:${name}`, ["delete"], FILTER);
    const removed = (predicate: string) => client.post(path(name, "delete"), { predicate });
    expect((await removed("id < 5")).json.num_deleted_rows).toBe(2);
    expect(await joust.client.count(name)).toBe(10);
    expect((await removed("tenant = 'b'")).json.num_deleted_rows).toBe(0);
    for (const predicate of ["true) OR (true", "1 / (id - 1) < 5", " ", "missing = 1"]) {
      expect((await removed(predicate)).status).toBeGreaterThanOrEqual(400);
    }
    expect((await removed("true")).json.num_deleted_rows).toBe(2);
    expect(await ids(joust.client, name)).toEqual([1, 2, 4, 5, 7, 8, 10, 11]);
    expectFailure(await client.post(path(name, "count_rows")), 403, 15);
  });

  it("update only visible rows, and no column of the filter", async () => {
    const name = await table();
    const { client } = await granted.filteredCaller(`table:${name}`, ["update"], FILTER);
    const update = (body: object) => client.post(path(name, "update"), body);
    const set = await update({ updates: [["secret", "'x'"]], predicate: "id < 5" });
    expect(set.json.updated_rows).toBe(2);
    expect((await update({ updates: [["secret", "'y'"]] })).json.updated_rows).toBe(4);
    expect(await joust.client.count(name, { predicate: "secret = 'y'" })).toBe(4);
    const computed = await update({ updates: [["secret", "CAST(30 / (id - 1) AS STRING)"]] });
    expect(computed.json.updated_rows).toBe(4);
    for (const column of ["tenant", "TENANT", "`tenant`"]) {
      const moved = await update({ updates: [[column, "'b'"]] });
      expect([column, moved.status]).toEqual([column, 403]);
    }
    const properties = await update({ updates: [["secret", "'z'"]], properties: { a: "b" } });
    expectFailure(properties, 403, 15, /privilege update/);
    expect(await joust.client.count(name, { predicate: "tenant = 'a'" })).toBe(4);
    expect(await joust.client.count(name, { predicate: "secret = 'z'" })).toBe(0);
  });

  it("insert only rows of the filter, all or none", async () => {
    const name = await table();
    const { client } = await granted.filteredCaller(`table:${name}`, ["insert"], FILTER);
    const insert = (body: Uint8Array, params?: Record<string, string>) =>
      client.post(path(name, "insert"), body, params);
    expect((await insert(rowsOf([20, 21], ["a", "a"]))).status).toBe(200);
    expect(await joust.client.count(name)).toBe(14);
    const denied = /does not match the row filter of your grant; no row is inserted/;
    expectFailure(await insert(rowsOf([22, 23], ["a", "b"])), 403, 15, denied);
    expectFailure(await insert(rowsOf([22, 23], ["a", null])), 403, 15, denied);
    expectFailure(await insert(stream({ id: [type.i32, [24]] })), 403, 15, denied);
    const long = Array.from({ length: 300_000 }, (_, id) => 100 + id);
    const tenants = long.map((id) => (id === 300_099 ? "b" : "a"));
    expectFailure(await insert(rowsOf(long, tenants)), 403, 15, denied);
    const twice = stream({ id: [type.i32, [1]], TENANT: [type.text, ["a"]] });
    expect((await insert(twice)).status).toBe(400);
    expect((await insert(stream({ id: [type.i32, [1]], tenant: [type.i32, [1]] }))).status).toBe(
      400,
    );
    expectFailure(await insert(rowsOf([25], ["a"]), { mode: "overwrite" }), 403, 15);
    expectFailure(await insert(rowsOf([25], ["a"]), { upload_id: "x" }), 403, 15);
    const merge = { on: "id", when_not_matched_insert_all: "true" };
    const merged = await client.post(path(name, "merge_insert"), rowsOf([26], ["a"]), merge);
    expectFailure(merged, 403, 15, /does not support the row filter/);
    expect(await joust.client.count(name)).toBe(14);
    const keyed = { headers: { "idempotency-key": "k1" }, body: rowsOf([30], ["b"]) };
    expect((await client.request(path(name, "insert"), keyed)).status).toBe(403);
    expect(await joust.client.count(name)).toBe(14);
  });

  it("through SQL have the same filters", async () => {
    const name = await table();
    const target = `f.${name.slice(2)}`;
    const all = ["insert", "update", "delete"] as const;
    const { client } = await granted.filteredCaller(`table:${name}`, all, FILTER);
    expect((await sql(client, `INSERT INTO ${target} (id, tenant) VALUES (50, 'a')`)).status).toBe(
      200,
    );
    expect((await sql(client, `INSERT INTO ${target} (id, tenant) VALUES (51, 'b')`)).status).toBe(
      403,
    );
    expect((await sql(client, `UPDATE ${target} SET secret = 'q'`)).json.rows[0]).toEqual({
      count: 5,
    });
    expect((await sql(client, `UPDATE ${target} SET tenant = 'b'`)).status).toBe(403);
    expect((await sql(client, `DELETE FROM ${target}`)).json.rows[0]).toEqual({ count: 5 });
    expect(await joust.client.count(name)).toBe(8);
  });

  it("of a role with a filtered grant are restricted too", async () => {
    const name = await table();
    const { key, id } = await createKey(joust.root, "read");
    const object = { kind: "table", id: name.split("$") } as const;
    await granted.grants.grant(`key:${id}`, object, ["delete"], FILTER);
    const client = joust.client.withKey(key);
    expect(await client.count(name)).toBe(12);
    const answer = await client.post(path(name, "delete"), { predicate: "true" });
    expect(answer.json.num_deleted_rows).toBe(4);
  });
});

describe("granting", () => {
  it("with a filter works through the routes and the command line", async () => {
    const name = await table();
    const { client, id } = await granted.caller();
    const object = `table:f:public$${name.slice(2)}`;
    const add = (body: object): Promise<Answer> =>
      joust.client.post("/admin/authz/acl/add", { subject: `p:${id}`, object, ...body });
    const select = { privilege: "SELECT", filter: FILTER };
    expectFailure(await add({ ...select, filter: "nothing = 1" }), 400, 12, /nothing/);
    for (const filter of [
      "tenant",
      "tenant = 'a') OR (true",
      "true",
      "id / 2 = 1",
      "",
      "_rowid = 1",
      `"tenant" = 'a'`,
    ]) {
      const refused = await add({ ...select, filter });
      expect([filter, refused.status]).toEqual([filter, 400]);
    }
    expect((await add({ privilege: "OPERATE", filter: FILTER })).status).toBe(400);
    expect((await add({ privilege: "OWNERSHIP", filter: FILTER })).status).toBe(400);
    expect((await add(select)).status).toBe(200);
    expect((await add(select)).status).toBe(409);
    const listed = await joust.client.ok("/admin/authz/acl/list", { subject: `p:${id}` });
    expect(listed.entries.map(({ privilege, filter }: Json) => [privilege, filter])).toEqual([
      ["SELECT", FILTER],
    ]);
    expect(await client.count(name)).toBe(4);

    const on = ["--on", `table:${name}`];
    const to = ["--to", `key:${id}`];
    const run = (...args: string[]) => runCli([...args, joust.root]);
    expect(await run("grant", "delete", ...on, ...to, "--filter", "id = 3")).toMatchObject({
      code: 0,
      out: "granted delete\n",
    });
    expect((await run("grants", "--subject", `key:${id}`)).out.trimEnd().split("\n")).toEqual([
      `key:${id}  table:${name}  delete  id = 3`,
      `key:${id}  table:${name}  select  ${FILTER}`,
    ]);
    const wrong = await run("grant", "delete", ...on, ...to, "--filter", "nothing = 3");
    expect(wrong.code).not.toBe(0);
    expect(wrong.err).toMatch(/nothing/);
    expect((await run("grant", "drop", ...on, ...to, "--filter", "id = 3")).err).toMatch(
      /drop has no row filter/,
    );
  });

  it("needs the privilege for all rows", async () => {
    const name = await table();
    const { client, id } = await granted.caller({ [`table:${name}`]: ["grant"] });
    const object = { kind: "table", id: name.split("$") } as const;
    await granted.grants.grant(`key:${id}`, object, ["select"], FILTER);
    const add = (more: object) =>
      client.post("/admin/authz/acl/add", {
        subject: `p:${id}`,
        object: `table:f:public$${name.slice(2)}`,
        privilege: "SELECT",
        ...more,
      });
    expectFailure(await add({}), 403, 15, /privilege select/);
    expectFailure(await add({ filter: FILTER }), 403, 15, /privilege select/);
    expect(await client.count(name)).toBe(4);
  });

  it("does not bind a role to a subject with filtered privileges", async () => {
    const { id } = await granted.caller();
    await granted.grants.grant(`key:${id}`, { kind: "server" }, ["select"], FILTER);
    const bound = await joust.client.ok("/admin/authz/principal", { principal: `p:${id}` });
    expect(bound.roles).toEqual([]);
    const list = await joust.client.ok("/admin/authz/role_binding/list", { subject: `p:${id}` });
    expect(list.bindings).toEqual([]);
    await joust.client.ok("/admin/authz/role_binding/add", { subject: `p:${id}`, role: "read" });
    const now = await joust.client.ok("/admin/authz/principal", { principal: `p:${id}` });
    expect(now.roles).toEqual(["read"]);
  });
});
