import { describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const create = (id: string, body?: object | string) =>
  joust.client.post(`/v1/namespace/${encodeURIComponent(id)}/create`, body);

describe("create namespace", () => {
  it("stores the properties", async () => {
    const reply = await create("with_properties", { properties: { owner: "Ralph" } });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      transaction_id: expect.any(String),
      properties: { owner: "Ralph" },
    });
    const described = await joust.client.ok("/v1/namespace/with_properties/describe", {});
    expect(described).toEqual({ properties: { owner: "Ralph" } });
  });

  it("needs no request body", async () => {
    const reply = await create("bare");
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ transaction_id: expect.any(String), properties: {} });
  });

  it("creates a child only in an existing namespace", async () => {
    await joust.client.createNamespace("parent");
    expect((await create("parent$child")).status).toBe(200);
    expectFailure(await create("nobody$child"), 404, 1, /nobody/);
  });

  it.each(["create", "Create", "CREATE", undefined])(
    "with mode %s rejects an existing namespace",
    async (mode) => {
      const id = `twice_${mode}`;
      await joust.client.createNamespace(id, { properties: { a: "1" } });
      expectFailure(await create(id, { mode, properties: { a: "2" } }), 409, 2, /already exists/);
      expect(await joust.client.ok(`/v1/namespace/${id}/describe`)).toEqual({
        properties: { a: "1" },
      });
    },
  );

  it.each(["exist_ok", "ExistOk", "EXIST_OK"])(
    "with mode %s keeps an existing namespace",
    async (mode) => {
      const id = `kept_${mode}`;
      await joust.client.createNamespace(id, { properties: { a: "1" } });
      const reply = await create(id, { mode, properties: { a: "2" } });
      expect(reply.status).toBe(200);
      expect(reply.json).toEqual({ transaction_id: expect.any(String), properties: { a: "1" } });
      const fresh = await create(`${id}_fresh`, { mode, properties: { a: "3" } });
      expect(fresh.json).toEqual({ transaction_id: expect.any(String), properties: { a: "3" } });
    },
  );

  it.each(["overwrite", "Overwrite"])(
    "with mode %s empties an existing namespace",
    async (mode) => {
      const { client } = joust;
      const id = `emptied_${mode}`;
      await client.createNamespace(id, { properties: { a: "1" } });
      await client.createNamespace(`${id}$inner`);
      await client.createTable(`${id}$inner$t`, items(3));
      await client.createTable(`${id}$t`, items(3));
      const reply = await create(id, { mode, properties: { b: "2" } });
      expect(reply.json).toEqual({ transaction_id: expect.any(String), properties: { b: "2" } });
      expect((await client.get(`/v1/namespace/${id}/list`)).json).toEqual({ namespaces: [] });
      expect((await client.get(`/v1/namespace/${id}/table/list`)).json).toEqual({ tables: [] });
      expectFailure(await client.post(`/v1/table/${id}$t/describe`), 404, 4);
      // The name is free, and a new table shows nothing of the old one.
      await client.createTable(`${id}$t`, items(2));
      expect(await client.count(`${id}$t`)).toBe(2);
    },
  );

  it("accepts an identifier with another delimiter", async () => {
    await joust.client.createNamespace("dotted");
    const reply = await joust.client.post(
      "/v1/namespace/dotted.inner/create",
      {},
      {
        delimiter: ".",
      },
    );
    expect(reply.status).toBe(200);
    expect((await joust.client.post("/v1/namespace/dotted$inner/exists")).status).toBe(200);
  });

  it("cannot create or empty the root", async () => {
    expectFailure(await create("$"), 409, 2, /root/);
    expect((await create("$", { mode: "exist_ok" })).status).toBe(200);
    expectFailure(await create("$", { mode: "overwrite" }), 400, 13, /root/);
  });

  it.each([
    ["an unknown mode", { mode: "upsert" }, /create, exist_ok, overwrite/],
    ["a mode that is not a string", { mode: 1 }, /mode/],
    ["properties that are not a map", { properties: "a" }, /properties/],
    ["a property that is not a string", { properties: { a: 1 } }, /properties/],
    ["an id that differs from the path", { id: ["other"] }, /id/],
    ["a body that is not an object", "[]", /object/],
    ["a body that is not JSON", "{", /JSON/],
  ])("rejects %s", async (_, body, detail) => {
    expectFailure(await create("refused", body), 400, 13, detail);
    expectFailure(await joust.client.post("/v1/namespace/refused/exists"), 404, 1);
  });

  it.each([
    ["only dots", "a%24.."],
    ["a slash", "a%2Fb"],
    ["a backslash", "a%5Cb"],
    ["a control character", "a%00b"],
    ["too many characters", "x".repeat(129)],
    ["too many bytes", encodeURIComponent("\u{1f600}".repeat(64))],
    ["an empty component", "a%24"],
    ["a reserved prefix", "_joust"],
    ["the manifest's name", "__manifest"],
  ])("rejects a name with %s", async (_, segment) => {
    expectFailure(await joust.client.post(`/v1/namespace/${segment}/create`), 400, 13);
  });

  it("accepts every other name", async () => {
    for (const name of ["x".repeat(128), "naïve Ünïcode", "日本", "a.b", "-", "lower", "LOWER"]) {
      expect((await create(name)).status).toBe(200);
    }
    expect(await joust.client.post("/v1/namespace/lower/exists").then((r) => r.status)).toBe(200);
  });
});
