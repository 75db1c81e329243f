import { tableFromIPC } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();

beforeAll(async () => {
  await joust.client.createTable("t", items(50));
});

describe("a query without a vector", () => {
  it("filters, skips and limits rows", async () => {
    const rows = await joust.client.query("t", {
      k: 3,
      offset: 1,
      vector: {},
      filter: "category = 'c2' AND price > 5",
    });
    expect([...rows].map((row) => Number(row.id))).toEqual([17, 22, 27]);
  });

  it.each([{}, null, [], { single_vector: [] }, undefined])(
    "accepts %o as an absent vector",
    async (vector) => {
      expect((await joust.client.query("t", { k: 7, vector })).numRows).toBe(7);
    },
  );

  it("returns all rows for the largest k", async () => {
    // 2^63 - 1 is not a JavaScript number: the body is written by hand.
    for (const k of ["9223372036854775807", "2147483647"]) {
      const reply = await joust.client.post("/v1/table/t/query", `{"k":${k},"vector":{}}`);
      expect(reply.status).toBe(200);
      expect(tableFromIPC(reply.bytes).numRows).toBe(50);
    }
  });

  it("returns no rows for k = 0 and for a filter without matches", async () => {
    expect((await joust.client.query("t", { k: 0, vector: {} })).numRows).toBe(0);
    const sorted = { vector: {}, order_by: [{ column_name: "id" }] };
    for (const offset of [0, 1, 500]) {
      expect((await joust.client.query("t", { k: 0, offset, ...sorted })).numRows).toBe(0);
    }
    const none = await joust.client.query("t", { k: 10, vector: {}, filter: "id < 0" });
    expect(none.numRows).toBe(0);
    expect(none.schema.names).toEqual(["id", "name", "category", "price", "vector"]);
  });

  it("returns the requested columns in the requested order", async () => {
    const rows = await joust.client.query("t", {
      k: 1,
      vector: {},
      columns: { column_names: ["price", "id"] },
    });
    expect(rows.schema.names).toEqual(["price", "id"]);
  });

  it("returns row ids that the columns name, also in an order", async () => {
    const named = { column_names: ["id", "_rowid"] };
    for (const columns of [named, { column_aliases: { id: "id", key: "_rowid" } }]) {
      const query = { k: 3, vector: {}, columns };
      const plain = await joust.client.query("t", query);
      const order_by = [{ column_name: "price", ascending: false }, { column_name: "id" }];
      const sorted = await joust.client.query("t", { ...query, order_by });
      expect(plain.schema.names).toHaveLength(2);
      expect(sorted.schema.names).toEqual(plain.schema.names);
      expect(sorted.numRows).toBe(3);
    }
  });

  it("accepts an empty alternative form, as the Java client sends it", async () => {
    const none = { single_vector: [], multi_vector: [] };
    const named = { column_names: ["price", "id"], column_aliases: {} };
    const plain = await joust.client.query("t", { k: 2, vector: none, columns: named });
    expect(plain.schema.names).toEqual(["price", "id"]);
    expect(plain.numRows).toBe(2);
    const aliased = { column_names: [], column_aliases: { what: "name" } };
    const single_vector = Array.from({ length: 8 }, () => 0);
    const near = { single_vector, multi_vector: [] };
    const result = await joust.client.query("t", { k: 1, vector: near, columns: aliased });
    expect(result.schema.names).toEqual(["what", "_distance"]);
    const all = { column_names: [], column_aliases: {} };
    const everything = await joust.client.query("t", { k: 1, vector: none, columns: all });
    expect(everything.schema.names).toEqual(["id", "name", "category", "price", "vector"]);
  });

  it("returns column aliases and expressions", async () => {
    const rows = await joust.client.query("t", {
      k: 1,
      vector: {},
      filter: "id = 8",
      columns: { column_aliases: { what: "name", twice: "id * 2", shout: "upper(category)" } },
    });
    expect(rows.schema.names).toEqual(["what", "twice", "shout"]);
    const row = rows.get(0)?.toJSON();
    expect(row).toMatchObject({ what: "item 8", shout: "C3" });
    expect(Number(row?.twice)).toBe(16);
  });

  it("returns row ids and filters by them", async () => {
    const all = await joust.client.query("t", { k: 50, vector: {}, with_row_id: true });
    const wanted = [...all].slice(10, 13);
    const list = wanted.map((row) => row._rowid).join(", ");
    const result = await joust.client.query("t", {
      k: 50,
      vector: {},
      filter: `_rowid IN (${list})`,
    });
    expect([...result].map((row) => row.id)).toEqual(wanted.map((row) => row.id));
  });

  it("reads an older version", async () => {
    const { client } = joust;
    await client.createTable("old", items(2));
    await client.insert("old", items(2, { from: 2 }));
    expect((await client.query("old", { vector: {}, version: 1 })).numRows).toBe(2);
    expect((await client.query("old", { vector: {} })).numRows).toBe(4);
  });

  it("accepts every kind of SQL that Lance accepts", async () => {
    const count = async (filter: string) =>
      (await joust.client.query("t", { k: 50, vector: {}, filter })).numRows;
    expect(await count("name LIKE 'item 1%'")).toBe(11);
    expect(await count("id IN (1, 2, 3) OR price BETWEEN 10 AND 11")).toBe(6);
    expect(await count("NOT (category = 'c0') AND id % 2 = 0")).toBe(20);
    expect(await count("name IS NULL")).toBe(0);
  });
});
