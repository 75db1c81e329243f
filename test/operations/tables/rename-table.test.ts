import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const rename = (id: string, body: object, params?: Record<string, string>) =>
  joust.client.post(`/v1/table/${encodeURIComponent(id)}/rename`, body, params);

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  await joust.client.createNamespace("ns$inner");
});

describe("rename table", () => {
  it("changes the name without moving files", async () => {
    const { client } = joust;
    const { location } = await client.createTable("old", items(3), { properties: '{"a":"1"}' });
    const reply = await rename("old", { new_table_name: "new" });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ transaction_id: expect.any(String) });
    expectFailure(await client.post("/v1/table/old/exists"), 404, 4);
    const described = await client.ok("/v1/table/new/describe");
    expect(described).toMatchObject({ location, table: "new", properties: { a: "1" } });
    expect(await client.count("new")).toBe(3);
    await client.insert("new", items(1, { from: 3 }));
    expect(await client.count("new")).toBe(4);
  });

  it("frees the old name for a new table with its own files", async () => {
    const { client } = joust;
    await client.createTable("shared", items(1));
    await rename("shared", { new_table_name: "moved" });
    await client.createTable("shared", items(2));
    expect(await client.count("moved")).toBe(1);
    expect(await client.count("shared")).toBe(2);
    await client.ok("/v1/table/moved/drop");
    expect(await client.count("shared")).toBe(2);
  });

  it("moves a table between namespaces", async () => {
    const { client } = joust;
    await client.createTable("traveller", items(2));
    const steps: [string, string[], string][] = [
      ["traveller", ["ns"], "ns$t1"],
      ["ns$t1", ["ns", "inner"], "ns$inner$t2"],
      ["ns$inner$t2", [], "t3"],
    ];
    for (const [from, new_namespace_id, to] of steps) {
      const new_table_name = to.split("$").at(-1);
      expect((await rename(from, { new_table_name, new_namespace_id })).status).toBe(200);
      expect(await client.count(to)).toBe(2);
      expectFailure(await client.post(`/v1/table/${from}/exists`), 404, 4);
    }
  });

  it("keeps the namespace if none is given", async () => {
    await joust.client.createTable("ns$here", items(1));
    await rename("ns$here", { new_table_name: "there" });
    expect(await joust.client.count("ns$there")).toBe(1);
    // What the Java client sends when neither list is set.
    await rename("ns$there", { id: [], new_table_name: "still", new_namespace_id: [] });
    expect(await joust.client.count("ns$still")).toBe(1);
    await rename("ns$still", { id: ["ns", "still"], new_table_name: "gone", new_namespace_id: [] });
    expect(await joust.client.count("gone")).toBe(1);
  });

  it("rejects a taken name", async () => {
    const { client } = joust;
    await client.createTable("one", items(1));
    await client.createTable("two", items(2));
    expectFailure(await rename("one", { new_table_name: "two" }), 409, 5, /two/);
    expect([await client.count("one"), await client.count("two")]).toEqual([1, 2]);
  });

  it("returns 404 for a missing table or namespace", async () => {
    await joust.client.createTable("lonely", items(1));
    const nowhere = { new_table_name: "x", new_namespace_id: ["nowhere"] };
    expectFailure(await rename("lonely", nowhere), 404, 1, /nowhere/);
    expectFailure(await rename("none", { new_table_name: "x" }), 404, 4, /none/);
    expect(await joust.client.count("lonely")).toBe(1);
  });

  it.each([
    ["no name", {}, /new_table_name/],
    ["an empty name", { new_table_name: "" }, /new_table_name/],
    ["a name that is not a string", { new_table_name: 7 }, /new_table_name/],
    ["a name with a slash", { new_table_name: "a/b" }, /a\/b/],
    ["a name with the delimiter", { new_table_name: "a$b" }, /delimiter/],
    ["a reserved name", { new_table_name: "__manifest" }, /reserved/],
    [
      "a namespace that is a string",
      { new_table_name: "a", new_namespace_id: "ns" },
      /new_namespace_id/,
    ],
    ["a namespace with a slash", { new_table_name: "a", new_namespace_id: ["a/b"] }, /a\/b/],
  ])("rejects %s", async (_, body, detail) => {
    expectFailure(await rename("one", body), 400, 13, detail);
  });

  it("uses the delimiter of the request", async () => {
    await joust.client.createTable("plain", items(1));
    expect((await rename("plain", { new_table_name: "a$b" }, { delimiter: "." })).status).toBe(200);
    const reply = await joust.client.post("/v1/table/a$b/count_rows", {}, { delimiter: "." });
    expect(reply.json).toBe(1);
    expectFailure(
      await joust.client.post(
        "/v1/table/a$b/rename",
        { new_table_name: "a.b" },
        { delimiter: "." },
      ),
      400,
      13,
      /delimiter/,
    );
  });
});
