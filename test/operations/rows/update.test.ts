import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const update = (id: string, body: object) => joust.client.post(`/v1/table/${id}/update`, body);

/** Price by id. */
async function prices(id: string): Promise<Record<number, number>> {
  const rows = await joust.client.query(id, { k: 100, vector: {} });
  return Object.fromEntries([...rows].map((row) => [Number(row.id), row.price]));
}

beforeAll(async () => {
  await joust.client.createTable("refusing", items(4));
});

describe("update", () => {
  it("sets columns from the former row where the predicate matches", async () => {
    await joust.client.createTable("some", items(4));
    const reply = await update("some", {
      predicate: "id >= 2",
      updates: [
        ["price", "price + id"],
        ["name", "'was ' || name"],
      ],
    });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      updated_rows: 2,
      version: 2,
      properties: {},
      transaction_id: expect.any(String),
    });
    expect(reply.headers.get("x-lancedb-version")).toBe("2");
    expect(await prices("some")).toEqual({ 0: 0, 1: 0.5, 2: 3, 3: 4.5 });
    expect(await joust.client.count("some", { predicate: "name = 'was item 2'" })).toBe(1);
    expect(await joust.client.count("some", { predicate: "price > 1", version: 1 })).toBe(1);
  });

  it.each(["Mixed Case", "a-b", "select", "1st", "größe", 'with "quotes"', "UPPER"])(
    "sets a column named %j in any case, quoted or not",
    async (name) => {
      const id = `named_${Buffer.from(name).toString("hex")}`;
      const ids = [1n, 2n];
      const columns = { id: [type.i64, ids], [name]: [type.i64, ids] } as const;
      await joust.client.createTable(id, stream({ ...columns }));
      const given = [name, `\`${name}\``, name.toLowerCase()];
      for (const [n, path] of given.entries()) {
        const reply = await update(id, { predicate: "id = 2", updates: [[path, `${n} + 5`]] });
        expect([path, reply.status, reply.json.updated_rows]).toEqual([path, 200, 1]);
        const rows = await joust.client.query(id, { k: 10, vector: {} });
        expect([...rows].map((row) => Number(row[name])).sort()).toEqual([1, n + 5]);
      }
    },
  );

  it("reads a column whose name needs quotes", async () => {
    const columns = { "Mixed Case": [type.i64, [1n, 2n]], "a-b": [type.i64, [0n, 0n]] } as const;
    await joust.client.createTable("quoted", stream({ ...columns }));
    const body = { updates: [["a-b", "`Mixed Case` * 10"]], predicate: "`Mixed Case` > 1" };
    expect((await update("quoted", body)).json).toMatchObject({ updated_rows: 1 });
    const rows = await joust.client.query("quoted", { k: 10, vector: {} });
    expect([...rows].map((row) => Number(row["a-b"])).sort()).toEqual([0, 20]);
    const both = {
      updates: [
        ["a-b", "1"],
        ["Mixed Case", "`a-b`"],
      ],
    };
    expectFailure(await update("quoted", both), 400, 13, /a-b.*which the same update sets/);
  });

  it.each([{}, { predicate: null }])("sets all rows with %j", async (rest) => {
    const id = `all_${Object.keys(rest).length}`;
    await joust.client.createTable(id, items(4));
    const reply = await update(id, { updates: [["price", "7"]], ...rest });
    expect(reply.json.updated_rows).toBe(4);
    expect(await prices(id)).toEqual({ 0: 7, 1: 7, 2: 7, 3: 7 });
  });

  it("reports that no row matched", async () => {
    await joust.client.createTable("none", items(4));
    const reply = await update("none", { predicate: "id > 99", updates: [["price", "7"]] });
    expect(reply.json.updated_rows).toBe(0);
    expect(await prices("none")).toEqual({ 0: 0, 1: 0.5, 2: 1, 3: 1.5 });
  });

  it("sets properties and keeps the others", async () => {
    await joust.client.createTable("owned", items(1), { properties: '{"a":"1","b":"2"}' });
    const reply = await update("owned", { updates: [["price", "1"]], properties: { b: "3" } });
    expect(reply.json.properties).toEqual({ a: "1", b: "3" });
    const { properties } = await joust.client.ok("/v1/table/owned/describe");
    expect(properties).toEqual({ a: "1", b: "3" });
  });

  it("keeps properties that concurrent updates set", async () => {
    await joust.client.createTable("shared", items(1), { properties: '{"kept":"1"}' });
    const names = Array.from({ length: 8 }, (_, n) => `p${n}`);
    const replies = await Promise.all(
      names.map((name) =>
        update("shared", { updates: [["price", "1"]], properties: { [name]: "2" } }),
      ),
    );
    for (const [n, reply] of replies.entries()) {
      expect(reply.json.properties).toMatchObject({ kept: "1", [`p${n}`]: "2" });
    }
    const { properties } = await joust.client.ok("/v1/table/shared/describe");
    expect(properties).toEqual({
      kept: "1",
      ...Object.fromEntries(names.map((name) => [name, "2"])),
    });
  });

  it.each<[string, object, number, number, RegExp]>([
    ["an unknown column", { updates: [["nope", "1"]] }, 404, 12, /nope/],
    ["an unknown column in a value", { updates: [["price", "nope"]] }, 404, 12, /nope/],
    [
      "an unknown column in the predicate",
      { updates: [["price", "1"]], predicate: "nope = 1" },
      404,
      12,
      /nope/,
    ],
    ["a broken value", { updates: [["price", "1 +"]] }, 400, 13, /expression/],
    ["a broken predicate", { updates: [["price", "1"]], predicate: "id >" }, 400, 13, /expression/],
    ["a blank predicate", { updates: [["price", "1"]], predicate: " " }, 400, 13, /blank/],
    ["a value with another type", { updates: [["price", "'much'"]] }, 400, 13, /much/],
    ["a value with trailing text", { updates: [["price", "1; DROP"]] }, 400, 13, /./],
    [
      "a field named twice",
      {
        updates: [
          ["price", "1"],
          ["price", "2"],
        ],
      },
      400,
      13,
      /twice/,
    ],
    ["no updates", {}, 400, 13, /updates/],
    ["an empty list", { updates: [] }, 400, 13, /updates/],
    ["a pair with one element", { updates: [["price"]] }, 400, 13, /updates/],
    [
      "a value that reads a column set in the same request",
      {
        updates: [
          ["price", "id + 1"],
          ["name", "cast(price as string)"],
        ],
      },
      400,
      13,
      /two updates/,
    ],
    ["a number as a value", { updates: [["price", 1]] }, 400, 13, /updates/],
    ["a map", { updates: { price: "1" } }, 400, 13, /updates/],
    ["an unknown branch", { updates: [["price", "1"]], branch: "dev" }, 404, 22, /dev/],
  ])("rejects %s", async (_, body, status, code, detail) => {
    expectFailure(await update("refusing", body), status, code, detail);
    expect(await prices("refusing")).toEqual({ 0: 0, 1: 0.5, 2: 1, 3: 1.5 });
  });

  it("returns 404 for a missing table", async () => {
    expectFailure(await update("nowhere", { updates: [["price", "1"]] }), 404, 4, /nowhere/);
  });
});
