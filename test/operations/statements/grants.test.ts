import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { createKey } from "../../harness/cli.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const sql = (query: string, client: Client = joust.client, parameters?: unknown[]) =>
  client.post("/v1/sql", { query, ...(parameters && { parameters }) });

/** A key without a role, and its client. */
async function newCaller(): Promise<{ id: string; client: Client }> {
  const { id, key } = await createKey(joust.root, "none");
  return { id, client: joust.client.withKey(key) };
}

async function grantsOf(id: string): Promise<[string, string][]> {
  const { entries } = await joust.client.ok("/admin/authz/acl/list", { subject: `p:${id}` });
  return entries.map((one: { object: string; privilege: string }) => [one.object, one.privilege]);
}

beforeAll(async () => {
  await joust.client.createNamespace("shop");
  await joust.client.createTable("shop$orders", items(10));
});

describe("GRANT", () => {
  it("gives privileges on a table, a schema or the server", async () => {
    const { id, client } = await newCaller();
    expectFailure(await sql("SELECT * FROM shop.orders", client), 404, 1);
    expect((await sql(`GRANT SELECT, INSERT ON TABLE shop.orders TO 'key:${id}'`)).status).toBe(
      200,
    );
    expect((await sql("SELECT count(*) FROM shop.orders", client)).status).toBe(200);
    expectFailure(await sql("DELETE FROM shop.orders WHERE id = 1", client), 403, 15, /delete/);
    expect((await sql(`grant delete on schema shop to 'key:${id}'`)).status).toBe(200);
    expect(
      (await sql(`GRANT ALL PRIVILEGES ON SERVER TO $1`, joust.client, [`key:${id}`])).status,
    ).toBe(200);
    expect(await grantsOf(id)).toEqual(
      expect.arrayContaining([
        ["table:shop:public$orders", "SELECT"],
        ["table:shop:public$orders", "INSERT"],
        ["database:shop", "DELETE"],
        ["system", "OWNERSHIP"],
      ]),
    );
  });

  it("does not change a privilege that the subject already has", async () => {
    const { id } = await newCaller();
    for (const privileges of ["SELECT", "SELECT", "SELECT, UPDATE"]) {
      expect((await sql(`GRANT ${privileges} ON shop.orders TO 'key:${id}'`)).status).toBe(200);
    }
    expect((await grantsOf(id)).map(([, privilege]) => privilege).sort()).toEqual([
      "SELECT",
      "UPDATE",
    ]);
  });

  it("restricts privileges to rows", async () => {
    const { id, client } = await newCaller();
    const granted = await sql(`GRANT SELECT ON shop.orders TO 'key:${id}' WHERE id < 3`);
    expect(granted.status).toBe(200);
    expect(await client.count("shop$orders")).toBe(3);
  });

  it("changes nothing if one of the privileges cannot have the filter", async () => {
    const { id, client } = await newCaller();
    const refused = (privileges: string) =>
      sql(`GRANT ${privileges} ON shop.orders TO 'key:${id}' WHERE id < 3`);
    expectFailure(await refused("SELECT, CREATE"), 400, 13, /create has no row filter/);
    expect(await grantsOf(id)).toEqual([]);
    expect((await sql(`GRANT SELECT ON shop.orders TO 'key:${id}'`)).status).toBe(200);
    expectFailure(await refused("ALL"), 400, 13, /create has no row filter/);
    // The privilege still applies to all rows.
    expect(await client.count("shop$orders")).toBe(10);
  });

  it("needs `grant` on the object, and each of the privileges", async () => {
    const { id, client } = await newCaller();
    const other = (await newCaller()).id;
    await sql(`GRANT SELECT, GRANT ON shop.orders TO 'key:${id}'`);
    const both = `GRANT SELECT, UPDATE ON shop.orders TO 'key:${other}'`;
    expectFailure(await sql(both, client), 403, 15, /update/);
    // The statement is refused as a whole.
    expect(await grantsOf(other)).toEqual([]);
    expect((await sql(`GRANT SELECT ON shop.orders TO 'key:${other}'`, client)).status).toBe(200);
  });

  it.each<[string, number, number, RegExp]>([
    ["GRANT SELECT ON shop.none TO 'key:x'", 404, 4, /none/],
    ["GRANT SELECT ON SCHEMA none TO 'key:x'", 404, 1, /none/],
    ["GRANT SELECT ON shop.orders TO 'x'", 400, 13, /'key:ID'/],
    ["GRANT SELECT ON shop.orders TO x", 400, 13, /text/],
    ["GRANT SELECT ON shop.orders TO 7", 400, 13, /'key:ID'/],
    ["GRANT EXECUTE ON shop.orders TO 'key:x'", 400, 13, /a privilege/],
    ["GRANT ALL, SELECT ON shop.orders TO 'key:x'", 400, 13, /ON/],
    ["GRANT SELECT ON shop.orders TO 'key:x' WITH GRANT OPTION", 400, 13, /WITH/],
    ["GRANT CREATE ON shop.orders TO 'key:x' WHERE id = 1", 400, 13, /filter/],
    ["GRANT SELECT ON shop.orders TO 'key:x' WHERE none = 1", 404, 12, /none/],
    ["REVOKE SELECT ON shop.orders TO 'key:x'", 400, 13, /FROM/],
  ])("refuses %s", async (statement, status, code, message) => {
    expectFailure(await sql(statement), status, code, message);
  });
});

describe("REVOKE", () => {
  it("takes privileges away", async () => {
    const { id, client } = await newCaller();
    await sql(`GRANT SELECT, INSERT ON shop.orders TO 'key:${id}'`);
    expect((await sql(`REVOKE SELECT, UPDATE ON shop.orders FROM 'key:${id}'`)).status).toBe(200);
    expect(await grantsOf(id)).toEqual([["table:shop:public$orders", "INSERT"]]);
    expect((await client.post("/v1/table/shop$orders/count_rows", {})).status).toBe(403);
  });

  it("fails if the subject has none of them", async () => {
    const { id } = await newCaller();
    expectFailure(await sql(`REVOKE SELECT ON shop.orders FROM 'key:${id}'`), 404, 13, /no grant/);
  });
});
