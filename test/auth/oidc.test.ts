import { SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sqlPort } from "../flight/sql-port.js";
import { items } from "../harness/arrow.js";
import type { Answer } from "../harness/client.js";
import { expectFailure } from "../harness/expect-failure.js";
import { FlightClient } from "../harness/flight-client.js";
import { IdentityProvider } from "../harness/identity-provider.js";
import { type Server, startServer } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";

let provider: IdentityProvider;
let server: Server;

const oidc = (): string[] => [
  "--oidc-issuer",
  provider.issuer,
  "--oidc-audience",
  "joust",
  "--oidc-roles",
  "readers=read,writers=write,ops=admin",
];

const exists = (token: string, at = server): Promise<Answer> =>
  at.client.withKey(token).post("/v1/table/t/exists");

const create = (token: string, name: string): Promise<Answer> =>
  server.client.withKey(token).post(`/v1/table/${name}/create`, items(1));

const seconds = (offset: number): number => Math.floor(Date.now() / 1000) + offset;

beforeAll(async () => {
  provider = await IdentityProvider.start();
  server = await startServer({ args: oidc() });
  await server.client.createTable("t", items(1));
});
afterAll(async () => {
  await server?.stop();
  await provider?.stop();
});

describe("a token of the identity provider", () => {
  it.each([
    [["readers"], 200, 403],
    [["writers", "readers"], 200, 200],
    [["ops"], 200, 200],
    ["readers", 200, 403],
  ])("gives the role of the groups %j", async (groups, read, write) => {
    const token = await provider.sign({ groups, email: "a@example.org" });
    expect((await exists(token)).status).toBe(read);
    const name = `of_${Buffer.from(JSON.stringify(groups)).toString("hex")}`;
    const reply = await create(token, name);
    expect(reply.status).toBe(write);
    if (write === 403)
      expect(reply.json.error).toContain("the user `a@example.org` has the role read");
  });

  it("gives nothing without a mapped group: objects do not exist for the user", async () => {
    const token = await provider.sign({ groups: ["others"] });
    expectFailure(await exists(token), 404, 4);
  });

  it("stands beside API keys", async () => {
    expect((await server.client.post("/v1/table/t/exists")).status).toBe(200);
    const headers = { "x-lancedb-credential-type": "oidc" };
    const token = await provider.sign({ groups: ["readers"] });
    const reply = await server.client.withKey(token).request("/v1/table/t/exists", { headers });
    expect(reply.status).toBe(200);
  });

  it("identifies its user over Flight SQL, too", async () => {
    const token = await provider.sign({ groups: ["readers"] });
    const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, token);
    const headers = { "x-lancedb-credential-type": "oidc" };
    expect((await flight.sql("SELECT * FROM t", { headers })).numRows).toBe(1);
    await expect(flight.sql("DELETE FROM t", { headers })).rejects.toThrow("needs write");
    flight.close();
    const expired = await provider.sign({ exp: seconds(-120) });
    const late = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, expired);
    await expect(late.sql("SELECT 1", { headers })).rejects.toThrow("has expired");
    late.close();
  });

  it("is verified once", async () => {
    const token = await provider.sign({ groups: ["readers"] });
    await exists(token);
    const { fetches } = provider;
    for (let n = 0; n < 5; n++) expect((await exists(token)).status).toBe(200);
    expect(provider.fetches).toBe(fetches);
  });
});

describe("the server refuses a token that", () => {
  it.each<[string, () => Promise<string> | string, string]>([
    ["has expired", () => provider.sign({ exp: seconds(-120) }), "has expired"],
    ["is not valid yet", () => provider.sign({ nbf: seconds(120) }), "is not valid yet"],
    ["is for another audience", () => provider.sign({ aud: "other" }), "is for another audience"],
    ["is of another issuer", () => provider.sign({ iss: "https://x.example" }), "is of another"],
    ["has no expiry", () => provider.sign({ exp: undefined as never }), "claim `exp`"],
    ["has no subject", () => provider.sign({ sub: undefined as never }), "claim `sub`"],
    [
      "is a logout token",
      () => provider.sign({}, { header: { typ: "logout+jwt" } }),
      "is neither an ID token nor an access token",
    ],
    [
      "has no signature",
      () =>
        new UnsecuredJWT({
          iss: provider.issuer,
          sub: "u",
          aud: "joust",
          exp: seconds(60),
        }).encode(),
      "must be signed with an asymmetric algorithm",
    ],
    [
      "is signed with the public key as a secret",
      () =>
        new SignJWT({ iss: provider.issuer, sub: "u", aud: "joust", exp: seconds(60) })
          .setProtectedHeader({ alg: "HS256" })
          .sign(new TextEncoder().encode(provider.publicKey)),
      "must be signed with an asymmetric algorithm",
    ],
    [
      "was changed after it was signed",
      async () => {
        const [header, , signature] = (await provider.sign({ groups: ["readers"] })).split(".");
        const claims = {
          iss: provider.issuer,
          sub: "u",
          aud: "joust",
          exp: seconds(60),
          groups: ["ops"],
        };
        return `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
      },
      "has an invalid signature",
    ],
  ])("%s", async (_, make, message) => {
    const reply = await exists(await make());
    expectFailure(reply, 401, 16);
    expect(reply.json.error).toContain(message);
  });

  it("accepts one within the clock skew", async () => {
    const token = await provider.sign({ exp: seconds(-10), groups: ["readers"] });
    expect((await exists(token)).status).toBe(200);
  });
});

describe("the keys of the provider", () => {
  it("may change: a new key is fetched when a token names it, and the former tokens end", async () => {
    const former = await provider.sign({ groups: ["readers"] });
    expect((await exists(former)).status).toBe(200);
    await provider.rotate("ES256");
    const token = await provider.sign({ groups: ["readers"] });
    await waitFor("the new key is fetched", async () => (await exists(token)).status === 200);
    expectFailure(await exists(former), 401, 16);
  });

  it("are not fetched for each token with an invented key", async () => {
    const { fetches } = provider;
    for (let n = 0; n < 20; n++) {
      const token = await provider.sign({ sub: `u${n}` }, { header: { kid: `invented-${n}` } });
      expectFailure(await exists(token), 401, 16);
    }
    expect(provider.fetches - fetches).toBeLessThanOrEqual(2);
  });

  it("stay in use while the provider does not answer", async () => {
    provider.isDown = true;
    const token = await provider.sign({ groups: ["readers"], sub: "during the outage" });
    expect((await exists(token)).status).toBe(200);
    provider.isDown = false;
  });

  it("are needed once: until then a token gets 503, and a key works", async () => {
    provider.isDown = true;
    const other = await startServerForTest({ args: oidc() });
    await other.client.createTable("t", items(1));
    const token = await provider.sign({ groups: ["readers"] });
    expectFailure(await exists(token, other), 503, 17);
    expect((await other.client.post("/v1/table/t/exists")).status).toBe(200);
    provider.isDown = false;
    await waitFor("the keys are fetched", async () => (await exists(token, other)).status === 200);
  });
});

it("works on several event loops", async () => {
  const other = await startServerForTest({ args: [...oidc(), "--http-threads", "2"] });
  await other.client.createTable("t", items(1));
  const token = await provider.sign({ groups: ["readers"] });
  const replies = await Promise.all(Array.from({ length: 20 }, () => exists(token, other)));
  expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
});
