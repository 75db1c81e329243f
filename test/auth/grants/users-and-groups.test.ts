/** Grants to users and groups of an identity provider, over HTTP, SQL and Flight SQL. */
import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sqlPort } from "../../flight/sql-port.js";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { FlightClient } from "../../harness/flight-client.js";
import { IdentityProvider } from "../../harness/identity-provider.js";
import { setupServer } from "../../harness/setup-server.js";

const provider = await IdentityProvider.start();
const joust = setupServer({
  args: [
    ...["--oidc-issuer", provider.issuer, "--oidc-audience", "joust"],
    ...["--oidc-groups-claim", "realm_access.roles"],
  ],
});
afterAll(() => provider.stop());

beforeAll(async () => {
  await joust.client.createNamespace("shop");
  for (const name of ["orders", "staff"]) await joust.client.createTable(`shop$${name}`, items(10));
});

let number = 0;
/** A user whom no other test knows, with groups of its own. */
function newUser() {
  number += 1;
  const sub = `user ${number}`;
  return {
    subject: `user:${provider.issuer}#${sub}`,
    group: `group-${number}`,
    other: `other-${number}`,
    token: (...groups: string[]) => provider.sign({ sub, realm_access: { roles: groups } }),
  };
}

const sql = (client: Client, query: string) => client.post("/v1/sql", { query });
const authz = (path: string, body: object, client = joust.client) =>
  client.post(`/admin/authz/${path}`, body);
const count = (client: Client) => client.post("/v1/table/shop%24orders/count_rows");
const TABLE = "table:shop:public$orders";

/** The ids of the rows that a token reads over each protocol, which must agree. */
async function idsOf(token: string): Promise<number[]> {
  const client = joust.client.withKey(token);
  const query = "SELECT id FROM shop.orders";
  const flight = new FlightClient(`http://127.0.0.1:${sqlPort(joust.server)}`, token);
  try {
    const answer = await sql(client, query);
    expect(answer.status, answer.text).toBe(200);
    const results = [
      await client.query("shop$orders", { vector: {}, k: 100 }),
      tableFromIPC(answer.bytes),
      await flight.sql(query),
    ].map((rows) => [...(rows.getChild("id") ?? [])].map(Number).sort((a, b) => a - b));
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
    expect(await client.count("shop$orders")).toBe(results[0]?.length);
    return results[0] as number[];
  } finally {
    flight.close();
  }
}

/** The token sees no table, over each protocol. */
async function expectBlind(token: string): Promise<void> {
  const client = joust.client.withKey(token);
  expectFailure(await count(client), 404, 1);
  expectFailure(await sql(client, "SELECT id FROM shop.orders"), 404, 1);
  expect((await client.get("/v1/table")).json).toEqual({ tables: [] });
  const flight = new FlightClient(`http://127.0.0.1:${sqlPort(joust.server)}`, token);
  try {
    await expect(flight.sql("SELECT id FROM shop.orders")).rejects.toThrow(/does not exist/);
    const tables = "SELECT table_name FROM information_schema.tables";
    expect((await flight.sql(tables)).numRows).toBe(0);
  } finally {
    flight.close();
  }
}

const all = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

describe.each([
  ["GRANT and REVOKE", "sql"],
  ["LanceDB's routes", "routes"],
] as const)("%s", (_, by) => {
  async function grant(subject: string, privilege: string, filter?: string): Promise<void> {
    if (by === "sql") {
      const where = filter === undefined ? "" : ` WHERE ${filter}`;
      const statement = `GRANT ${privilege} ON TABLE shop.orders TO '${subject}'${where}`;
      expect((await sql(joust.client, statement)).status).toBe(200);
      return;
    }
    const named = subject.replace(/^group:/, "g:").replace(/^user:/, "p:user:");
    const body = { subject: named, object: TABLE, privilege, ...(filter && { filter }) };
    expect((await authz("acl/add", body)).status).toBe(200);
  }
  async function revoke(subject: string, privilege: string): Promise<void> {
    if (by === "sql") {
      const statement = `REVOKE ${privilege} ON TABLE shop.orders FROM '${subject}'`;
      expect((await sql(joust.client, statement)).status).toBe(200);
      return;
    }
    const named = subject.replace(/^group:/, "g:").replace(/^user:/, "p:user:");
    const body = { subject: named, object: TABLE, privilege };
    expect((await authz("acl/delete", body)).status).toBe(200);
  }

  it("make a table visible to a user, whatever its groups are", async () => {
    const user = newUser();
    const stranger = newUser();
    const [token, other] = [await user.token(), await stranger.token("some")];
    await expectBlind(token);
    await grant(user.subject, "SELECT");
    expect(await idsOf(token)).toEqual(all);
    expect(await idsOf(await user.token("some"))).toEqual(all);
    const client = joust.client.withKey(token);
    expect((await client.get("/v1/table")).json).toEqual({ tables: ["shop$orders"] });
    expectFailure(await client.post("/v1/table/shop%24staff/count_rows"), 404, 4);
    await expectBlind(other);
    await revoke(user.subject, "SELECT");
    await expectBlind(token);
  });

  it("make a table visible to a group, as long as the token names it", async () => {
    const user = newUser();
    const member = await user.token("some", user.group);
    await expectBlind(member);
    await grant(`group:${user.group}`, "SELECT");
    expect(await idsOf(member)).toEqual(all);
    // The provider has removed the user from the group. Its former token still names the group until it expires.
    await expectBlind(await user.token("some"));
    await expectBlind(await user.token());
    await expectBlind(await user.token(`${user.group}s`));
    expect(await idsOf(await newUser().token(user.group))).toEqual(all);
    await revoke(`group:${user.group}`, "SELECT");
    await expectBlind(member);
  });

  it("combine the row filters of a user and its groups with OR", async () => {
    const user = newUser();
    const { group, other } = user;
    await grant(user.subject, "SELECT", "id = 9");
    await grant(`group:${group}`, "SELECT", "id < 3");
    await grant(`group:${other}`, "SELECT", "id IN (2, 5)");
    expect(await idsOf(await user.token())).toEqual([9]);
    expect(await idsOf(await user.token(group))).toEqual([0, 1, 2, 9]);
    expect(await idsOf(await user.token(group, other))).toEqual([0, 1, 2, 5, 9]);
    expect(await idsOf(await newUser().token(other))).toEqual([2, 5]);
    await revoke(`group:${group}`, "SELECT");
    expect(await idsOf(await user.token(group, other))).toEqual([2, 5, 9]);
    await grant(`group:${group}`, "SELECT");
    expect(await idsOf(await user.token(group, other))).toEqual(all);
  });

  it("give each privilege alone, and together with those of the groups", async () => {
    const user = newUser();
    await grant(user.subject, "SELECT");
    await grant(`group:${user.group}`, "UPDATE");
    const alone = joust.client.withKey(await user.token());
    const member = joust.client.withKey(await user.token(user.group));
    const only = joust.client.withKey(await newUser().token(user.group));
    const update = { predicate: "false", updates: [["price", "1"]] };
    const updating = (client: Client) => client.post("/v1/table/shop%24orders/update", update);
    expectFailure(await updating(alone), 403, 15, /privilege update on table "shop\$orders"/);
    expect((await updating(member)).status).toBe(200);
    expect((await count(member)).status).toBe(200);
    expect((await updating(only)).status).toBe(200);
    expectFailure(await count(only), 403, 15, /privilege select/);
    const flight = new FlightClient(`http://127.0.0.1:${sqlPort(joust.server)}`, alone.key);
    const statement = "UPDATE shop.orders SET price = 1 WHERE false";
    await expect(flight.sql(statement)).rejects.toThrow(/privilege update/);
    flight.close();
    expectFailure(await sql(only, "SELECT id FROM shop.orders"), 403, 15, /select/);
    expect((await sql(only, statement)).status).toBe(200);
  });

  it("work for a user with the privilege `grant`, and refuse what it does not have", async () => {
    const user = newUser();
    await grant(`group:${user.group}`, "SELECT");
    await grant(user.subject, by === "sql" ? "GRANT" : "PRIVILEGE1001");
    const client = joust.client.withKey(await user.token(user.group));
    const reader = newUser();
    const give = (privilege: string, to: string) =>
      by === "sql"
        ? sql(client, `GRANT ${privilege} ON shop.orders TO 'group:${to}'`)
        : authz("acl/add", { subject: `g:${to}`, object: TABLE, privilege }, client);
    expectFailure(await give("DELETE", reader.group), 403, 15, /privilege delete/);
    expect((await give("SELECT", reader.group)).status).toBe(200);
    expect(await idsOf(await reader.token(reader.group))).toEqual(all);
    // Without the group the user has `grant`, but no longer `select`.
    const without = joust.client.withKey(await user.token());
    const again =
      by === "sql"
        ? await sql(without, `GRANT SELECT ON shop.orders TO 'group:${reader.other}'`)
        : await authz(
            "acl/add",
            { subject: `g:${reader.other}`, object: TABLE, privilege: "SELECT" },
            without,
          );
    expectFailure(again, 403, 15, /privilege select/);
  });
});

describe("LanceDB's routes on users and groups", () => {
  it("list the grants of a user and of a group by the names that they take", async () => {
    const user = newUser();
    const subjects = [`p:${user.subject}`, `g:${user.group}`];
    for (const subject of subjects) {
      const grant = { subject, object: TABLE, privilege: "SELECT", filter: "id < 3" };
      expect((await authz("acl/add", grant)).status).toBe(200);
      const { entries } = (await authz("acl/list", { subject })).json;
      const expected = { object: TABLE, privilege: "SELECT", filter: "id < 3" };
      expect(entries).toEqual([{ ...expected, subject_id: subject }]);
    }
  });

  it("bind a role to a user and to a group", async () => {
    const user = newUser();
    const client = joust.client.withKey(await user.token(user.group));
    const create = (name: string) => client.post(`/v1/table/${name}/create`, items(1));
    for (const subject of [`p:${user.subject}`, `g:${user.group}`]) {
      const name = `made_${number}_${subject.slice(0, 1)}`;
      expectFailure(await create(name), 403, 15, /create on the server/);
      expect((await authz("role_binding/add", { subject, role: "write" })).status).toBe(200);
      const { bindings } = (await authz("role_binding/list", { subject })).json;
      expect(bindings).toEqual([{ subject_id: subject, role: "write" }]);
      expect((await create(name)).status).toBe(200);
      expect((await authz("role_binding/delete", { subject, role: "write" })).status).toBe(200);
      expectFailure(await count(client), 404, 1);
    }
  });

  it("describe a user and a group", async () => {
    const user = newUser();
    for (const subject of [`p:${user.subject}`, `g:${user.group}`]) {
      await authz("role_binding/add", { subject, role: "read" });
    }
    const principal = await authz("principal", { principal: `p:${user.subject}` });
    expect(principal.json).toMatchObject({ principal_id: user.subject, roles: ["read"] });
    const group = await authz("group", { group: `g:${user.group}` });
    expect(group.json).toMatchObject({ group_id: user.group, roles: ["read"] });
  });
});
