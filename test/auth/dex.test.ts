import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { type Dex, dexMissing, startDex } from "../harness/dex.js";
import { expectFailure } from "../harness/expect-failure.js";
import { type Server, startServer } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";

describe.skipIf(dexMissing)(`tokens of dex${dexMissing ? ` (${dexMissing})` : ""}`, () => {
  let dex: Dex;
  let server: Server;

  const oidc = (audience: string): string[] => [
    ...["--oidc-issuer", dex.issuer, "--oidc-audience", audience],
    ...["--oidc-roles", "analysts=write"],
  ];

  beforeAll(async () => {
    dex = await startDex(["analysts"]);
    server = await startServer({ args: oidc(dex.client) });
    await server.client.createTable("t", items(1));
  });
  afterAll(async () => {
    await server?.stop();
    await dex?.stop();
  });

  it("give the role of the groups that dex puts into them", async () => {
    const { access_token, id_token } = await dex.tokens("openid groups");
    for (const token of [access_token, id_token as string]) {
      const client = server.client.withKey(token);
      expect((await client.post("/v1/table/t/insert", items(1))).status).toBe(200);
      const reply = await client.post("/v1/namespace/n/drop", { behavior: "Cascade" });
      expectFailure(reply, 403, 15);
    }
    expect(await server.client.count("t")).toBe(3);
  });

  it("give nothing without the scope that asks for groups", async () => {
    const { access_token } = await dex.tokens("openid");
    const reply = await server.client.withKey(access_token).post("/v1/table/t/exists");
    expectFailure(reply, 404, 4);
  });

  it("are refused if they are for another audience", async () => {
    const other = await startServerForTest({ args: oidc("another-application") });
    await other.client.createTable("t", items(1));
    const { access_token } = await dex.tokens("openid groups");
    const reply = await other.client.withKey(access_token).post("/v1/table/t/exists");
    expectFailure(reply, 401, 16);
    expect(reply.json.error).toContain("is for another audience");
  });

  it("are refused if their content was changed", async () => {
    const [header, payload = "", signature] = (await dex.tokens("openid")).access_token.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    const changed = Buffer.from(JSON.stringify({ ...claims, groups: dex.groups }));
    const token = `${header}.${changed.toString("base64url")}.${signature}`;
    const reply = await server.client.withKey(token).post("/v1/table/t/exists");
    expectFailure(reply, 401, 16);
    expect(reply.json.error).toContain("has an invalid signature");
  });

  it("carry the grants of a group", async () => {
    const grant = { subject: "g:analysts", object: 'joust_table:["t"]', privilege: "SELECT" };
    const other = await startServerForTest({ args: oidc(dex.client).slice(0, 4) });
    await other.client.createTable("t", items(4));
    const withGroups = other.client.withKey((await dex.tokens("openid groups")).access_token);
    const without = other.client.withKey((await dex.tokens("openid")).access_token);
    expectFailure(await withGroups.post("/v1/table/t/count_rows"), 404, 4);
    await other.client.ok("/admin/authz/acl/add", { ...grant, filter: "id < 3" });
    expect(await withGroups.count("t")).toBe(3);
    expectFailure(await withGroups.post("/v1/table/t/insert", items(1)), 403, 15, /insert/);
    expectFailure(await without.post("/v1/table/t/count_rows"), 404, 4);
    await other.client.ok("/admin/authz/acl/delete", grant);
    expectFailure(await withGroups.post("/v1/table/t/count_rows"), 404, 4);
  });

  // Last, because dex signs with other keys afterwards.
  it("stay valid while dex is down, and end when it publishes other keys", async () => {
    const exists = async (token: string) => {
      const reply = await server.client.withKey(token).post("/v1/table/t/exists");
      return reply.status;
    };
    const { access_token: former, id_token: unused } = await dex.tokens("openid groups");
    expect(await exists(former)).toBe(200);
    await dex.pause();
    expect(await exists(former)).toBe(200);
    // The server has not seen this token, so it verifies the signature with the former keys.
    expect(await exists(unused as string)).toBe(200);
    await dex.resume();
    const { access_token: token } = await dex.tokens("openid groups");
    await waitFor("the server fetches the new keys", async () => (await exists(token)) === 200);
    expect(await exists(former)).toBe(401);
    expect(await exists(unused as string)).toBe(401);
  });
});
