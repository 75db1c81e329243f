import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";

const joust = setupServer();
const granted = setupGrants(joust);

const authz = (client: Client, path: string, body: object) =>
  client.post(`/admin/authz/${path}`, body);

beforeAll(async () => {
  await joust.client.createNamespace("db");
  await joust.client.createNamespace("db$n");
  for (const name of ["r", "db$t", "db$n$u"]) await joust.client.createTable(name, items(1));
});

describe("grants of LanceDB's routes", () => {
  it("name objects and privileges as LanceDB does", async () => {
    const subject = "g:names";
    const named = [
      ["database:db", "CREATE_TABLE", "database:db"],
      ["namespace:db:n", "OPERATE", "namespace:db:n"],
      ["table:db:public$t", "PRIVILEGE2", "table:db:public$t"],
      ["view:db:n$u", "OWNERSHIP", "table:db:n$u"],
      ['joust_table:["r"]', "PRIVILEGE1000", 'joust_table:["r"]'],
      ["system", "PRIVILEGE1001", "system"],
    ] as const;
    for (const [object, privilege] of named) {
      const added = await authz(joust.client, "acl/add", { subject, object, privilege });
      expect([object, added.status]).toEqual([object, 200]);
    }
    const { entries } = (await authz(joust.client, "acl/list", { subject })).json;
    const expected = named.map(([, privilege, object]) => ({
      subject_id: subject,
      object,
      privilege: privilege === "PRIVILEGE2" ? "SELECT" : privilege,
    }));
    expect(entries).toHaveLength(expected.length);
    expect(entries).toEqual(expect.arrayContaining(expected));
  });

  it("refuse what is there already, missing, or of no use here", async () => {
    const grant = { subject: "g:twice", object: "database:db", privilege: "SELECT" };
    expect((await authz(joust.client, "acl/add", grant)).status).toBe(200);
    expectFailure(await authz(joust.client, "acl/add", grant), 409, 13);
    expect((await authz(joust.client, "acl/delete", grant)).status).toBe(200);
    expectFailure(await authz(joust.client, "acl/delete", grant), 404, 13);
    const wrong = (change: object) => authz(joust.client, "acl/add", { ...grant, ...change });
    expectFailure(await wrong({ object: "database:no" }), 404, 1);
    expectFailure(await wrong({ object: "table:db:public$no" }), 404, 4);
    expectFailure(await wrong({ object: "shelf:db" }), 400, 13, /object "shelf:db"/);
    expectFailure(await wrong({ object: "secret:db:s" }), 406, 0);
    expectFailure(await wrong({ privilege: "USAGE" }), 406, 0);
    expectFailure(await wrong({ privilege: "FLY" }), 400, 13, /"FLY"/);
    expectFailure(await wrong({ subject: "keyless" }), 400, 13, /subject/);
    expectFailure(await wrong({ subject: "P:no such key" }), 404, 13);
    expectFailure(await wrong({ subject: "r:read" }), 406, 0);
  });

  it("are listed in pages", async () => {
    const subject = "g:pages";
    for (const privilege of ["SELECT", "INSERT"]) {
      for (const object of ["database:db", "table:db:public$t", "system"]) {
        await authz(joust.client, "acl/add", { subject, object, privilege });
      }
    }
    const objects: string[] = [];
    let token: string | undefined;
    do {
      const page = { subject, max_results: 1, ...(token && { continuation_token: token }) };
      const { json } = await authz(joust.client, "acl/list", page);
      objects.push(...json.entries.map((entry: { object: string }) => entry.object));
      token = json.continuation_token;
    } while (token !== undefined);
    expect(objects).toHaveLength(6);
    expect(new Set(objects)).toEqual(new Set(["database:db", "table:db:public$t", "system"]));
  });

  it("give no privilege that the caller does not have", async () => {
    const { client } = await granted.caller({ "namespace:db": ["select", "grant"] });
    const { id } = await granted.caller();
    const add = (object: string, privilege: string) =>
      authz(client, "acl/add", { subject: `p:${id}`, object, privilege });
    expect((await add("table:db:public$t", "SELECT")).status).toBe(200);
    expectFailure(await add("database:db", "INSERT"), 403, 15, /privilege insert/);
    expectFailure(await add("database:db", "OWNERSHIP"), 403, 15, /insert, .* and manage/);
    expectFailure(await add("system", "SELECT"), 403, 15, /on the server/);
    expectFailure(await add('joust_table:["r"]', "SELECT"), 404, 4);
    const bound = await authz(client, "role_binding/add", { subject: `p:${id}`, role: "read" });
    expectFailure(bound, 403, 15);
    expectFailure(await authz(client, "acl/list", {}), 403, 15);
    const listed = await authz(client, "acl/list", { object: "table:db:public$t" });
    expect(listed.json.entries).toEqual(
      expect.arrayContaining([expect.objectContaining({ subject_id: `p:${id}` })]),
    );
  });
});

describe("roles of LanceDB's routes", () => {
  it("are bound, listed, described and unbound", async () => {
    const subject = "g:roles";
    const bind = (call: string, role: string) =>
      authz(joust.client, `role_binding/${call}`, { subject, role });
    const bindings = async () =>
      (await authz(joust.client, "role_binding/list", { subject })).json.bindings;
    expect((await bind("add", "write")).status).toBe(200);
    expect(await bindings()).toEqual([{ subject_id: subject, role: "write" }]);
    const group = await authz(joust.client, "group", { group: subject });
    expect(group.json).toMatchObject({ group_id: "roles", principals: [], roles: ["write"] });
    expect((await bind("delete", "read")).status).toBe(200);
    expect(await bindings()).toEqual([{ subject_id: subject, role: "write" }]);
    expect((await bind("delete", "write")).status).toBe(200);
    expect(await bindings()).toEqual([]);
    expectFailure(await bind("add", "owner"), 400, 13, /read, write or admin/);
  });

  it("take effect for a key, also by its name or itself", async () => {
    const { client, id } = await granted.caller();
    const count = async () => (await client.post("/v1/table/r/count_rows")).status;
    expect(await count()).toBe(404);
    const binding = { subject: `a:${client.key}`, role: "read" };
    expect((await authz(joust.client, "role_binding/add", binding)).status).toBe(200);
    expect(await count()).toBe(200);
    const principal = await authz(joust.client, "principal", { principal: `p:${id}` });
    expect(principal.json).toMatchObject({ principal_id: id, groups: [], roles: ["read"] });
    expectFailure(await authz(joust.client, "principal", { principal: "p:unknown" }), 404, 13);
    expectFailure(await authz(joust.client, "principal", { principal: "g:roles" }), 400, 13);
    expect((await authz(joust.client, "role_binding/delete", binding)).status).toBe(200);
    expect(await count()).toBe(404);
  });
});
