import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const fields = (id: string, body: object) =>
  joust.client.post(`/v1/table/${id}/update_field_metadata`, body);
const schema = (id: string, body: object | string, params?: Record<string, string>) =>
  joust.client.post(`/v1/table/${id}/schema_metadata/update`, body, params);

beforeAll(async () => {
  await joust.client.createTable("refusing", items(4));
});

describe("update_field_metadata", () => {
  it("sets, removes and replaces keys of several fields in one commit", async () => {
    await joust.client.createTable("noted", items(1));
    const first = { path: "price", metadata: { unit: "EUR", source: "shop" } };
    expect((await fields("noted", { updates: [first] })).json).toEqual({
      version: 2,
      fields: { price: first.metadata },
      transaction_id: expect.any(String),
    });
    const reply = await fields("noted", {
      updates: [
        { path: "price", metadata: { unit: null, vat: "20" }, replace: null },
        { path: "name", metadata: { language: "en" }, replace: true },
      ],
    });
    expect(reply.json).toEqual({
      version: 3,
      fields: { price: { source: "shop", vat: "20" }, name: { language: "en" } },
      transaction_id: expect.any(String),
    });
    const replaced = await fields("noted", {
      updates: [{ path: "price", metadata: { a: "1" }, replace: true }],
    });
    expect(replaced.json.fields).toEqual({ price: { a: "1" } });
    const described = await joust.client.ok("/v1/table/noted/describe");
    const price = described.schema.fields.find((field: Json) => field.name === "price");
    expect(price.metadata).toEqual({ a: "1" });
  });

  it.each<[string, object, number, number, RegExp]>([
    ["an unknown field", { updates: [{ path: "nope", metadata: { a: "1" } }] }, 404, 12, /nope/],
    [
      "a value that is not a string",
      { updates: [{ path: "id", metadata: { a: 1 } }] },
      400,
      13,
      /metadata/,
    ],
    ["no metadata", { updates: [{ path: "id" }] }, 400, 13, /metadata/],
    ["no path", { updates: [{ metadata: {} }] }, 400, 13, /path/],
    ["no updates", { updates: [] }, 400, 13, /updates/],
    ["nothing", {}, 400, 13, /updates/],
    [
      "an unknown branch",
      { updates: [{ path: "id", metadata: {} }], branch: "dev" },
      404,
      22,
      /dev/,
    ],
  ])("rejects %s", async (_, body, status, code, detail) => {
    expectFailure(await fields("refusing", body), status, code, detail);
  });
});

describe("schema_metadata/update", () => {
  it("replaces the existing metadata and accepts any key", async () => {
    await joust.client.createTable("owned", items(1));
    const stored = async () => {
      const { schema } = await joust.client.ok("/v1/table/owned/describe");
      return schema.metadata ?? {};
    };
    const first = { owner: "me", id: "a key like others", identity: "too" };
    const reply = await schema("owned", first);
    expect(reply.json).toEqual(first);
    expect(reply.headers.get("x-lancedb-version")).toBe("2");
    expect(await stored()).toEqual(first);
    expect((await schema("owned", { team: "search" })).json).toEqual({ team: "search" });
    expect(await stored()).toEqual({
      team: "search",
    });
    expect((await schema("owned", {})).json).toEqual({});
    expect(await stored()).toEqual({});
  });

  it("ignores the members that every request body may have", async () => {
    await joust.client.createTable("common", items(1));
    const body = { a: "1", id: ["common"], context: { trace: "x" }, identity: { api_key: "k" } };
    expect((await schema("common", body)).json).toEqual({ a: "1" });
    expectFailure(await schema("common", { id: ["other"] }), 400, 13, /id/);
  });

  it.each<[string, object | string, number, number, RegExp]>([
    ["a number", { a: 1 }, 400, 13, /`a`/],
    ["a null", { a: null }, 400, 13, /`a`/],
    ["an array", "[]", 400, 13, /object/],
    ["broken JSON", "{", 400, 13, /JSON/],
  ])("returns an error for %s", async (_, body, status, code, detail) => {
    expectFailure(await schema("refusing", body), status, code, detail);
  });

  it("returns 404 for a missing branch or table", async () => {
    expectFailure(await schema("refusing", {}, { branch: "dev" }), 404, 22, /dev/);
    expectFailure(await schema("nowhere", {}), 404, 4, /nowhere/);
  });
});
