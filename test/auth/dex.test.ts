import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { type Dex, dexMissing, startDex } from "../harness/dex.js";
import { expectFailure } from "../harness/expect-failure.js";
import { type Server, startServer } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";

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
});
