import { tableFromIPC } from "apache-arrow";
import { beforeAll, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { runCli } from "../harness/cli.js";
import type { Client } from "../harness/client.js";
import { expectFailure } from "../harness/expect-failure.js";
import type { Server } from "../harness/server.js";
import { describeOnSharedRoots } from "./shared-roots.js";

describeOnSharedRoots((root) => {
  let servers: [Server, Server];
  let callers: [Client, Client];
  const grant = { subject: "", object: 'joust_table:["t"]', privilege: "SELECT" };
  beforeAll(async () => {
    servers = [await root.serve(), await root.serve("--http-threads", "2")];
    await servers[0].client.createTable("t", items(10));
    const { args, env } = root.command();
    const made = await runCli(["key", "create", "--role", "none", "--name", "tenant", ...args], {
      env,
    });
    const [, secret = "", id = ""] = /shown once\): (\S+)\nid: (\S+)\n/.exec(made.out) ?? [];
    callers = [servers[0].client.withKey(secret), servers[1].client.withKey(secret)];
    grant.subject = `p:${id}`;
  }, 60_000);

  /** What each server replies, over several connections, which the threads of a server share. */
  const everywhere = <T>(ask: (client: Client) => Promise<T>): Promise<T[]> =>
    Promise.all(callers.flatMap((client) => Array.from({ length: 6 }, () => ask(client))));
  const ids = async (client: Client) => {
    const found = await client.query("t", { k: 100, columns: { column_names: ["id"] } });
    return [...(found.getChild("id") ?? [])].map(Number).sort((a, b) => a - b);
  };

  it("the row filter of a grant restricts reads and writes on every server", async () => {
    const filtered = { ...grant, filter: "id < 4" };
    await servers[0].client.ok("/admin/authz/acl/add", filtered);
    await servers[1].client.ok("/admin/authz/acl/add", { ...filtered, privilege: "INSERT" });
    await root.accessIsKnown();
    for (const found of await everywhere(ids)) expect(found).toEqual([0, 1, 2, 3]);
    for (const count of await everywhere((client) => client.count("t"))) expect(count).toBe(4);
    const sql = await everywhere(async (client) => {
      const { bytes } = await client.post("/v1/sql", { query: "SELECT id FROM t WHERE id > 2" });
      return tableFromIPC(bytes).numRows;
    });
    expect(new Set(sql)).toEqual(new Set([1]));
    // The rows 0 to 9: six of them are hidden.
    for (const client of callers) {
      const inserted = client.post("/v1/table/t/insert", items(10));
      expectFailure(await inserted, 403, 15, /row filter/);
    }
    for (const server of servers) await server.client.insert("t", items(1));
    for (const found of await everywhere(ids)) expect(found).toEqual([0, 0, 0, 1, 2, 3]);
  });

  it("a changed filter and a revocation hold on every server", async () => {
    await servers[1].client.ok("/admin/authz/acl/add", { ...grant, filter: "id = 7" });
    await root.accessIsKnown();
    for (const found of await everywhere(ids)) expect(found).toEqual([7]);
    await servers[0].client.ok("/admin/authz/acl/delete", { ...grant, privilege: "INSERT" });
    await servers[0].client.ok("/admin/authz/acl/delete", grant);
    await root.accessIsKnown();
    const statuses = await everywhere(
      async (client) => (await client.post("/v1/table/t/count_rows")).status,
    );
    expect(new Set(statuses)).toEqual(new Set([404]));
  });
});
