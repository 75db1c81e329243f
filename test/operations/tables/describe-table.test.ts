import { rmSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const describeTable = (id: string, body?: object, params?: Record<string, string>) =>
  joust.client.post(`/v1/table/${encodeURIComponent(id)}/describe`, body, params);

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  await joust.client.createTable("ns$t", items(4), { properties: '{"owner":"Ralph"}' });
  await joust.client.insert("ns$t", items(3, { from: 4 }));
  await joust.client.ok("/v1/table/ns$t/delete", { predicate: "id = 1" });
});

describe("describe table", () => {
  it("returns all details", async () => {
    const reply = await describeTable("ns$t");
    expect(reply.status).toBe(200);
    expect(reply.headers.get("x-lancedb-version")).toBe("3");
    const { schema, location, ...rest } = reply.json;
    expect(rest).toEqual({
      table: "t",
      namespace: ["ns"],
      version: 3,
      stats: { num_deleted_rows: 1, num_fragments: 2 },
      metadata: expect.any(Object),
      properties: { owner: "Ralph" },
    });
    expect(location.startsWith(joust.root)).toBe(true);
    const types = schema.fields.map((field: { name: string; type: { type: string } }) => [
      field.name,
      field.type.type,
    ]);
    expect(types).toEqual([
      ["id", "int64"],
      ["name", "utf8"],
      ["category", "utf8"],
      ["price", "float64"],
      ["vector", "fixed_size_list"],
    ]);
  });

  it("adds optional details requested in the query or in the body", async () => {
    const { location } = (await describeTable("ns$t")).json;
    const table_uri = pathToFileURL(location).href;
    expect((await describeTable("ns$t", {}, { with_table_uri: "true" })).json.table_uri).toBe(
      table_uri,
    );
    expect((await describeTable("ns$t", { with_table_uri: true })).json.table_uri).toBe(table_uri);
    expect((await describeTable("ns$t", { check_declared: true })).json.is_only_declared).toBe(
      false,
    );
    const all = { with_table_uri: "true", check_declared: "true", load_detailed_metadata: "true" };
    expect((await describeTable("ns$t", {}, all)).json).toMatchObject({
      table_uri,
      is_only_declared: false,
      version: 3,
    });
    // Without the flag the detail is absent: the two forms are cached separately.
    const plain = (await describeTable("ns$t")).json;
    expect(plain).not.toHaveProperty("table_uri");
    expect(plain).not.toHaveProperty("is_only_declared");
    expect(plain).not.toHaveProperty("managed_versioning");
  });

  it("describes an older version", async () => {
    const reply = await describeTable("ns$t", { version: 1 });
    expect(reply.json).toMatchObject({
      version: 1,
      stats: { num_deleted_rows: 0, num_fragments: 1 },
    });
    expect(reply.headers.get("x-lancedb-version")).toBe("1");
    expect((await describeTable("ns$t", { version: null })).json.version).toBe(3);
  });

  it("shows every change at once, also when it is called often", async () => {
    const { client } = joust;
    await client.createTable("changing", items(1));
    for (let version = 1; version < 20; version++) {
      for (let time = 0; time < 3; time++) {
        expect((await describeTable("changing")).json.version).toBe(version);
      }
      await client.insert("changing", items(1, { from: version }));
    }
    // The table is cached now, so only the change in the catalog shows that the cache is stale.
    expect((await describeTable("changing")).json).toMatchObject({ table: "changing" });
    await client.ok("/v1/table/changing/rename", { new_table_name: "changed" });
    expect((await describeTable("changed")).json).toMatchObject({ table: "changed", version: 20 });
    expectFailure(await describeTable("changing"), 404, 4);
    await client.createTable("changed", items(1), { mode: "overwrite", properties: '{"a":"b"}' });
    expect((await describeTable("changed")).json).toMatchObject({
      version: 21,
      properties: { a: "b" },
    });
    await client.ok("/v1/table/changed/drop");
    expectFailure(await describeTable("changed"), 404, 4);
    await client.createTable("changed", items(1));
    expect((await describeTable("changed")).json).toMatchObject({ version: 1, properties: {} });
  });

  it("accepts x-lancedb-min-timestamp", async () => {
    const headers = (time: string) => ({ headers: { "x-lancedb-min-timestamp": time } });
    const now = await joust.client.request(
      "/v1/table/ns$t/describe",
      headers(new Date().toISOString()),
    );
    expect(now.json.version).toBe(3);
    const wrong = await joust.client.request("/v1/table/ns$t/describe", headers("yesterday"));
    expectFailure(wrong, 400, 13, /x-lancedb-min-timestamp/);
  });

  it.each([
    ["version", { version: 99 }, 11],
    ["version 0", { version: 0 }, 11],
    ["version beyond 2^53", { version: 2 ** 60 }, 11],
    ["tag", { tag: "release" }, 8],
    ["branch", { branch: "dev" }, 22],
  ])("returns 404 for a missing %s", async (_, body, code) => {
    expectFailure(await describeTable("ns$t", body), 404, code);
  });

  it("accepts main as branch", async () => {
    expect((await describeTable("ns$t", { branch: "main" })).json.version).toBe(3);
  });

  it.each([
    ["negative version", { version: -1 }, /version/],
    ["version beyond 2^63", { version: 1e300 }, /version/],
    ["version of more than 64 bits", { version: 2 ** 64 }, /version/],
    ["fractional version", { version: 1.5 }, /version/],
    ["version that is a string", { version: "1" }, /version/],
    ["version together with a tag", { version: 1, tag: "a" }, /version and tag/],
    ["flag that is a string", { with_table_uri: "yes" }, /with_table_uri/],
    ["id of another table", { id: ["t"] }, /id/],
  ])("rejects a %s", async (_, body, detail) => {
    expectFailure(await describeTable("ns$t", body), 400, 13, detail);
  });

  it("rejects an invalid flag in the query", async () => {
    const reply = await describeTable("ns$t", {}, { with_table_uri: "maybe" });
    expectFailure(reply, 400, 13, /with_table_uri/);
  });

  it("returns 404 for a missing table or namespace", async () => {
    expectFailure(await describeTable("none"), 404, 4, /none/);
    expectFailure(await describeTable("ns$none"), 404, 4, /none/);
    expectFailure(await describeTable("nowhere$t"), 404, 1, /nowhere/);
    expectFailure(await describeTable("$"), 400, 13);
  });
});

describe("table exists", () => {
  const exists = (id: string, body?: object) => joust.client.post(`/v1/table/${id}/exists`, body);

  it("returns a status without a body", async () => {
    const reply = await exists("ns$t");
    expect(reply.status).toBe(200);
    expect(reply.bytes).toHaveLength(0);
    expect((await exists("ns$t", { version: 2 })).status).toBe(200);
  });

  it("fails like describe", async () => {
    expectFailure(await exists("ns$none"), 404, 4);
    expectFailure(await exists("nowhere$t"), 404, 1);
    expectFailure(await exists("ns$t", { version: 99 }), 404, 11);
    expectFailure(await exists("ns$t", { version: "x" }), 400, 13, /version/);
  });
});

describe("a table whose files were removed", () => {
  it("returns 404 and can be dropped", async () => {
    const { client } = joust;
    const { location } = await client.createTable("lost", stream({ a: [type.i64, [1n]] }));
    rmSync(location, { recursive: true });
    for (const operation of ["describe", "exists", "count_rows", "stats", "index/list"]) {
      expectFailure(await client.post(`/v1/table/lost/${operation}`), 404, 4);
    }
    expectFailure(await client.post("/v1/table/lost/query", { k: 1, vector: {} }), 404, 4);
    expectFailure(
      await client.post("/v1/table/lost/insert", stream({ a: [type.i64, [1n]] })),
      404,
      4,
    );
    expect((await client.post("/v1/table/lost/drop")).status).toBe(200);
    await client.createTable("lost", stream({ a: [type.i64, [1n, 2n]] }));
    expect(await client.count("lost")).toBe(2);
  });

  it("can be created again", async () => {
    const { client } = joust;
    const { location } = await client.createTable("lost_too", stream({ a: [type.i64, [1n]] }));
    rmSync(location, { recursive: true });
    const again = stream({ a: [type.i64, [1n, 2n]] });
    await client.createTable("lost_too", again, { mode: "overwrite" });
    expect(await client.count("lost_too")).toBe(2);
  });
});
