import { beforeAll, describe, expect, it } from "vitest";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const names = ["Zeta", "alpha", "beta", "gamma", "ünder"];

beforeAll(async () => {
  await joust.client.createNamespace("list");
  for (const name of [...names].reverse()) await joust.client.createNamespace(`list$${name}`);
  await joust.client.createNamespace("list$alpha$deep");
});

describe("list namespaces", () => {
  it("returns only children, in byte order, by GET and by POST", async () => {
    const expected = { namespaces: names };
    expect((await joust.client.get("/v1/namespace/list/list")).json).toEqual(expected);
    expect(await joust.client.ok("/v1/namespace/list/list")).toEqual(expected);
    expect(await joust.client.ok("/v1/namespace/list/list", {})).toEqual(expected);
  });

  it("lists the root if the id is the delimiter", async () => {
    for (const path of ["/v1/namespace/$/list", "/v1/namespace/%24/list"]) {
      expect((await joust.client.get(path)).json.namespaces).toContain("list");
    }
    const colon = await joust.client.get("/v1/namespace/:/list", { delimiter: ":" });
    expect(colon.json.namespaces).toContain("list");
  });

  it.each([1, 2, 3, 5, 100])("returns pages of %i without gaps or repetitions", async (limit) => {
    const { client } = joust;
    for (const method of ["GET", "POST"] as const) {
      const seen: string[] = [];
      let token: string | undefined;
      do {
        const after = token === undefined ? {} : { page_token: token };
        const reply = await (method === "GET"
          ? client.get("/v1/namespace/list/list", { limit: String(limit), ...after })
          : client.post("/v1/namespace/list/list", { limit, ...after }));
        expect(reply.status).toBe(200);
        expect(reply.json.namespaces.length).toBeLessThanOrEqual(limit);
        expect(reply.json.namespaces).not.toContain(seen.at(-1));
        seen.push(...reply.json.namespaces);
        token = reply.json.page_token;
      } while (token);
      expect(seen).toEqual(names);
    }
  });

  it("continues after a name that was dropped in between", async () => {
    const { client } = joust;
    await client.createNamespace("moving");
    for (const name of ["a", "b", "c"]) await client.createNamespace(`moving$${name}`);
    const first = await client.ok("/v1/namespace/moving/list", { limit: 1 });
    await client.ok("/v1/namespace/moving$a/drop");
    const second = await client.ok("/v1/namespace/moving/list", { page_token: first.page_token });
    expect(second).toEqual({ namespaces: ["b", "c"] });
  });

  it("starts from the beginning for an empty token", async () => {
    const reply = await joust.client.get("/v1/namespace/list/list", { page_token: "" });
    expect(reply.json).toEqual({ namespaces: names });
  });

  it.each([
    ["limit", { limit: "0" }],
    ["limit", { limit: "-1" }],
    ["limit", { limit: "ten" }],
    ["limit", { limit: "1.5" }],
    ["page_token", { page_token: "beta" }],
    ["page_token", { page_token: Buffer.from('["tables",""]').toString("base64url") }],
  ])("rejects an invalid %s: %o", async (name, params) => {
    const reply = await joust.client.get("/v1/namespace/list/list", params);
    expectFailure(reply, 400, 13, new RegExp(name));
  });

  it("rejects the token of another listing", async () => {
    const other = await joust.client.get("/v1/namespace/$/list", { limit: "1" });
    if (!other.json.page_token) await joust.client.createNamespace("list_more");
    const { page_token } = (await joust.client.get("/v1/namespace/$/list", { limit: "1" })).json;
    expect(page_token).toBeTruthy();
    const reply = await joust.client.get("/v1/namespace/list/list", { page_token });
    expectFailure(reply, 400, 13, /page_token/);
  });

  it("returns 404 for a missing namespace", async () => {
    expectFailure(await joust.client.get("/v1/namespace/nowhere/list"), 404, 1, /nowhere/);
  });
});

describe("describe namespace and namespace exists", () => {
  it("agree on every namespace", async () => {
    const { client } = joust;
    expect(await client.ok("/v1/namespace/list/describe")).toEqual({ properties: {} });
    const exists = await client.post("/v1/namespace/list/exists");
    expect(exists.status).toBe(200);
    expect(exists.bytes).toHaveLength(0);
    for (const operation of ["describe", "exists"]) {
      expectFailure(await client.post(`/v1/namespace/nowhere/${operation}`), 404, 1, /nowhere/);
      expectFailure(await client.post(`/v1/namespace/list$none/${operation}`), 404, 1, /none/);
    }
  });

  it("include the root", async () => {
    expect(await joust.client.ok("/v1/namespace/$/describe", {})).toEqual({ properties: {} });
    expect((await joust.client.post("/v1/namespace/$/exists", {})).status).toBe(200);
  });
});
