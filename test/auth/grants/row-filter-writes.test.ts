/** What a caller with a row filter may change. */
import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../harness/arrow.js";
import { createKey } from "../../harness/cli.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";
import { FILTER, ids, path, rowsOf, sql, tenantTable } from "./tenants.js";

const joust = setupServer();
const granted = setupGrants(joust);
const table = () => tenantTable(joust);

beforeAll(() => joust.client.createNamespace("f"));

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
    const keyed = { headers: { "idempotency-key": "k1" }, body: rowsOf([30], ["b"]) };
    expect((await client.request(path(name, "insert"), keyed)).status).toBe(403);
    expect(await joust.client.count(name)).toBe(14);
  });

  it("in parts are checked when each part arrives", async () => {
    const name = await table();
    const { client } = await granted.filteredCaller(`table:${name}`, ["insert"], FILTER);
    const begin = async (by = client): Promise<string> =>
      (await by.ok(path(name, "multipart_write/create"))).upload_id;
    const send = (upload_id: string, body: Uint8Array, more = {}, by = client) =>
      by.post(path(name, "insert"), body, { upload_id, ...more });
    const end = (upload_id: string, how = "complete") =>
      client.post(path(name, `multipart_write/${how}`), {}, { upload_id });
    const upload = await begin();
    expect((await send(upload, rowsOf([20, 21], ["a", "a"]))).json.num_inserted_rows).toBe(2);
    const denied = /does not match the row filter of your grant/;
    expectFailure(await send(upload, rowsOf([22, 23], ["a", "b"])), 403, 15, denied);
    expectFailure(await send(upload, rowsOf([24], [null])), 403, 15, denied);
    expectFailure(await send(upload, rowsOf([25], ["a"]), { mode: "overwrite" }), 403, 15);
    expect((await end(upload)).status).toBe(200);
    expect(await joust.client.count(name)).toBe(14);
    const aborted = await begin();
    expect((await send(aborted, rowsOf([26], ["a"]))).status).toBe(200);
    expect((await end(aborted, "abort")).status).toBe(200);
    expect((await end(aborted)).status).toBe(400);
    // The upload of another caller that replaces all rows: the request does not change its state.
    const whole = await begin(joust.client);
    const replace = { mode: "overwrite" };
    expect((await send(whole, rowsOf([1]), replace, joust.client)).status).toBe(200);
    expectFailure(await end(whole), 403, 15, /for all rows/);
    expect(await joust.client.count(name)).toBe(14);
    await joust.client.ok(path(name, "multipart_write/complete"), {}, { upload_id: whole });
    expect(await joust.client.count(name)).toBe(1);
  });

  it("of one upload are committed once for callers with and without a filter", async () => {
    const name = await table();
    const { client } = await granted.filteredCaller(`table:${name}`, ["insert"], FILTER);
    const before = await joust.client.count(name);
    const uploads: string[] = [];
    for (let number = 0; number < 8; number++) {
      const { upload_id } = await client.ok(path(name, "multipart_write/create"));
      const part = rowsOf([100 + number], ["a"]);
      expect((await client.post(path(name, "insert"), part, { upload_id })).status).toBe(200);
      uploads.push(upload_id);
    }
    const completions = uploads.map((upload_id) =>
      Promise.all(
        [client, joust.client, client].map((by) =>
          by.ok(path(name, "multipart_write/complete"), {}, { upload_id }),
        ),
      ),
    );
    for (const answers of await Promise.all(completions)) {
      expect(new Set(answers.map(({ version }) => version)).size).toBe(1);
    }
    expect(await joust.client.count(name)).toBe(before + uploads.length);
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
