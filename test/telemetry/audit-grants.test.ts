/** The grant in the lines of the audit log, for every operation that reads or changes grants or keys. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { privileges } from "../../src/catalog/grants/privileges.js";
import { operations } from "../../src/operations/index.js";
import { setupGrants } from "../auth/grants/grant-callers.js";
import { items } from "../harness/arrow.js";
import { createKey } from "../harness/cli.js";
import type { Client, Json } from "../harness/client.js";
import { newKey } from "../harness/server.js";
import { setupServer } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const path = join(tempDir("audit"), "audit.log");
const joust = setupServer({ args: ["--audit-log", path] });
const granted = setupGrants(joust);

/** An operation of grants or keys, also one that does not exist yet. */
const isAboutGrants = (operation: Operation): boolean =>
  operation.path.startsWith("/admin/") ||
  /\/keys?(\/|$)/.test(operation.path) ||
  operation.uses.includes("grants");

let next = 0;

/** Sends a request and returns the grant of its line. */
async function grantOf(client: Client, { path: to }: Pick<Operation, "path">, body: object) {
  next += 1;
  const id = `request-${next}`;
  const { status } = await client.request(to, { body, headers: { "x-request-id": id } });
  const line: Json = await waitFor(`the line of ${id}`, () =>
    readFileSync(path, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((text) => JSON.parse(text))
      .find((entry) => entry.request_id === id),
  );
  expect(line.status).toBe(status);
  return { status, line, grant: line.grant };
}

const find = (id: string): Operation => operations.find((one) => one.id === id) as Operation;

/** What the line of each operation says. */
const cases: Record<string, { body: object; grant: object }> = {
  ListGrants: {
    body: { subject: "g:team", object: "table:db:public$t" },
    grant: { subject: "group:team", object: "table:db$t" },
  },
  AddGrant: {
    body: { subject: "p:user:https://login#7", object: "database:db", privilege: "OWNERSHIP" },
    grant: { subject: "user:https://login#7", object: "namespace:db", privileges },
  },
  DeleteGrant: {
    body: { subject: "p:user:https://login#7", object: "database:db", privilege: "INSERT" },
    grant: { subject: "user:https://login#7", object: "namespace:db", privileges: ["insert"] },
  },
  ListRoleBindings: {
    body: { subject: "g:team", role: "write" },
    grant: {
      subject: "group:team",
      object: "server",
      role: "write",
      privileges: ["select", "insert", "update", "delete", "create", "drop"],
    },
  },
  AddRoleBinding: {
    body: { subject: "G:team", role: "read" },
    grant: { subject: "group:team", object: "server", role: "read", privileges: ["select"] },
  },
  DeleteRoleBinding: {
    body: { subject: "g:team", role: "read" },
    grant: { subject: "group:team", object: "server", role: "read", privileges: ["select"] },
  },
  DescribePrincipal: {
    body: { principal: "p:user:https://login#7" },
    grant: { subject: "user:https://login#7" },
  },
  DescribeGroup: { body: { group: "g:team" }, grant: { subject: "group:team" } },
};

beforeAll(async () => {
  await joust.client.createNamespace("db");
  await joust.client.createTable("db$t", items(1));
});

describe("the audit log", () => {
  it("is tested with every operation of grants and keys", () => {
    // The parts of its statements are in audit.test.ts.
    const others = operations.filter(({ id }) => id !== "ExecuteSql");
    const ids = others.filter(isAboutGrants).map(({ id }) => id);
    expect(Object.keys(cases).sort()).toEqual(ids.sort());
    for (const id of ids) expect([id, typeof find(id).audited]).toEqual([id, "function"]);
  });

  it.each(Object.entries(cases))("names the grant of %s", async (id, { body, grant }) => {
    const done = await grantOf(joust.client, find(id), body);
    expect(done).toMatchObject({ status: 200, line: { operation: id } });
    expect(done.grant).toEqual(grant);
  });

  it.each(Object.entries(cases))("names the grant of a refused %s", async (id, { body, grant }) => {
    const { client, id: caller } = await granted.caller({ server: ["select"] });
    const refused = await grantOf(client, find(id), body);
    expect(refused).toMatchObject({ status: 403, line: { error: 15, identity: { id: caller } } });
    expect(refused.grant).toEqual(grant);
  });

  it("names the row filter of a grant", async () => {
    const body = { subject: "g:team", object: "table:db:public$t", privilege: "SELECT" };
    const filter = "id < 10";
    const done = await grantOf(joust.client, find("AddGrant"), { ...body, filter });
    expect(done.grant).toEqual({
      subject: "group:team",
      object: "table:db$t",
      privileges: ["select"],
      filter,
    });
  });

  it("names a key by its id and its name, also if the request contains the key itself", async () => {
    // The only key of that name here.
    const { key, id } = await createKey(joust.root, "write");
    const named = { subject: `key:${id}`, subject_name: "write" };
    const grant = { ...named, object: "table:db$t", privileges: ["select"] };
    for (const subject of [`p:${id}`, "P:write", `a:${key}`]) {
      const body = { subject, object: "table:db:public$t", privilege: "SELECT" };
      const added = await grantOf(joust.client, find("AddGrant"), body);
      expect(added).toMatchObject({ status: 200, grant });
      expect(await grantOf(joust.client, find("DeleteGrant"), body)).toMatchObject({ grant });
    }
    expect(readFileSync(path, "utf8")).not.toContain(key);
  });

  it("names what is valid in a request that fails", async () => {
    const body = { subject: "g:team", object: "database:db", privilege: "SELECT" };
    const grant = { subject: "group:team", object: "namespace:db", privileges: ["select"] };
    const send = (change: object) =>
      grantOf(joust.client, find("AddGrant"), { ...body, ...change });
    const without = (member: keyof typeof grant) => {
      const { [member]: _, ...others } = grant;
      return others;
    };
    const expected = [
      [{ object: "database:none" }, 404, { ...grant, object: "namespace:none" }],
      [{ object: "shelf:db" }, 400, without("object")],
      [{ privilege: "FLY" }, 400, without("privileges")],
      [{ subject: "team" }, 400, without("subject")],
      [{ subject: "P:no such key" }, 404, without("subject")],
      [{ subject: 7 }, 400, undefined],
    ] as const;
    for (const [change, status, named] of expected) {
      const failed = await send(change);
      expect([change, failed.status, failed.grant]).toEqual([change, status, named]);
    }
    const unknown = { subject: "g:team", role: "owner" };
    const bound = await grantOf(joust.client, find("AddRoleBinding"), unknown);
    expect(bound.status).toBe(400);
    expect(bound.grant).toEqual({ subject: "group:team", object: "server" });
  });

  it("has no grant of a caller whose body is not read", async () => {
    const { key } = await createKey(joust.root, "read");
    const { body } = cases.AddGrant as { body: object };
    const refused = await grantOf(joust.client.withKey(key), find("AddGrant"), body);
    expect([refused.status, refused.grant]).toEqual([403, undefined]);
  });

  it("contains no key that a request names by mistake", async () => {
    const secret = newKey();
    for (const subject of [secret, `p:${secret}`, `P:${secret}`, `a:${secret}`, `r:${secret}`]) {
      const body = { subject, object: secret, privilege: secret };
      await grantOf(joust.client, find("AddGrant"), body);
      await grantOf(joust.client, find("ListRoleBindings"), { subject, role: secret });
      await grantOf(joust.client, find("DescribePrincipal"), { principal: subject });
    }
    expect(readFileSync(path, "utf8")).not.toContain(secret);
  });
});
