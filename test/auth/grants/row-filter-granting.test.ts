/** Who may grant a row filter, and which text can be one. */
import { beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../../harness/cli.js";
import type { Answer, Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";
import { FILTER, tenantTable } from "./tenants.js";

const joust = setupServer();
const granted = setupGrants(joust);
const table = () => tenantTable(joust);

beforeAll(() => joust.client.createNamespace("f"));

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
