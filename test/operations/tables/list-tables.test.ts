import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const inRoot = ["A", "a", "b", "c"];
const inNs = ["x", "y"];
/** By namespace, then by name. */
const everything = [...inRoot, "ns$x", "ns$y", "ns$inner$z"];

beforeAll(async () => {
  const { client } = joust;
  await client.createNamespace("ns");
  await client.createNamespace("ns$inner");
  const one = stream({ id: [type.i64, [1n]] });
  for (const id of [...everything].reverse()) await client.createTable(id, one);
});

async function pages(path: string, limit: number): Promise<string[]> {
  const seen: string[] = [];
  let token: string | undefined;
  do {
    const reply = await joust.client.get(path, {
      limit: String(limit),
      ...(token !== undefined && { page_token: token }),
    });
    expect(reply.status).toBe(200);
    expect(reply.json.tables.length).toBeLessThanOrEqual(limit);
    expect(reply.json.tables).not.toContain(seen.at(-1));
    seen.push(...reply.json.tables);
    token = reply.json.page_token;
  } while (token);
  return seen;
}

describe("list tables", () => {
  it("returns the names of one namespace by GET and by POST", async () => {
    const { client } = joust;
    expect((await client.get("/v1/namespace/$/table/list")).json).toEqual({ tables: inRoot });
    expect((await client.get("/v1/namespace/ns/table/list")).json).toEqual({ tables: inNs });
    expect(await client.ok("/v1/namespace/ns/table/list")).toEqual({ tables: inNs });
    const paged = await client.ok("/v1/namespace/ns/table/list", { limit: 1 });
    expect(paged.tables).toEqual(["x"]);
    const { page_token } = paged;
    const rest = await client.ok("/v1/namespace/ns/table/list", { limit: 1, page_token });
    expect(rest).toEqual({ tables: ["y"] });
  });

  it("accepts include_declared", async () => {
    const reply = await joust.client.get("/v1/namespace/ns/table/list", {
      include_declared: "false",
    });
    expect(reply.json).toEqual({ tables: inNs });
  });

  it.each([1, 2, 3, 100])("returns pages of %i", async (limit) => {
    expect(await pages("/v1/namespace/$/table/list", limit)).toEqual(inRoot);
  });

  it("rejects invalid paging and a missing namespace", async () => {
    const { client } = joust;
    expectFailure(
      await client.get("/v1/namespace/ns/table/list", { limit: "0" }),
      400,
      13,
      /limit/,
    );
    expectFailure(
      await client.get("/v1/namespace/ns/table/list", { page_token: "x" }),
      400,
      13,
      /page_token/,
    );
    expectFailure(await client.get("/v1/namespace/nowhere/table/list"), 404, 1, /nowhere/);
  });

  it("lists a table neither twice nor before its creation ends", async () => {
    const { client } = joust;
    await client.createTable("late", items(10));
    expect((await client.get("/v1/namespace/$/table/list")).json.tables).toEqual([
      ...inRoot,
      "late",
    ]);
    await client.ok("/v1/table/late/drop");
    expect((await client.get("/v1/namespace/$/table/list")).json.tables).toEqual(inRoot);
  });
});

describe("list all tables", () => {
  it("returns full identifiers by GET and by POST", async () => {
    const { client } = joust;
    const { tables } = (await client.get("/v1/table")).json;
    expect([...tables].sort()).toEqual([...everything].sort());
    expect((await client.ok("/v1/table")).tables).toEqual(tables);
    const joined = (await client.get("/v1/table", { delimiter: "/" })).json.tables;
    expect(joined).toContain("ns/inner/z");
  });

  it.each([1, 2, 3, 100])("returns pages of %i over all namespaces", async (limit) => {
    const seen = await pages("/v1/table", limit);
    expect([...seen].sort()).toEqual([...everything].sort());
  });

  it("rejects invalid limits and tokens", async () => {
    expectFailure(await joust.client.get("/v1/table", { limit: "x" }), 400, 13, /limit/);
    expectFailure(await joust.client.get("/v1/table", { page_token: "x" }), 400, 13, /page_token/);
  });
});
