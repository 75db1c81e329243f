import { Field, Schema, Table, vectorFromArray } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { emptyStream, items, stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const insert = (id: string, body: Uint8Array | string, params?: Record<string, string>) =>
  joust.client.post(`/v1/table/${id}/insert`, body, params);

beforeAll(async () => {
  await joust.client.createTable("refusing", items(2));
});

describe("insert", () => {
  it.each(["", "/"])("names a missing non-null column in the error (path%s)", async (slash) => {
    const id = `required${slash && "_lancedb"}`;
    const schema = new Schema([new Field("item", type.text, true), new Field("price", type.f64)]);
    const filled = {
      item: vectorFromArray(["foo"], type.text),
      price: vectorFromArray([10], type.f64),
    };
    await joust.client.createTable(id, stream(new Table(schema, filled)));
    const reply = await joust.client.post(
      `/v1/table/${id}/insert${slash}`,
      stream({ item: [type.text, ["bar"]] }),
    );
    expectFailure(reply, 400, 20, /^Append with different schema: .*missing=\[price\]/);
    expect(await joust.client.count(id)).toBe(1);
  });

  it.each([undefined, "append", "Append", "APPEND"])("with mode %s adds rows", async (mode) => {
    const id = `added_${mode}`;
    await joust.client.createTable(id, items(2));
    const reply = await insert(id, items(3, { from: 2 }), mode ? { mode } : undefined);
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      transaction_id: expect.any(String),
      num_inserted_rows: 3,
      version: 2,
    });
    expect(reply.headers.get("x-lancedb-version")).toBe("2");
    expect(await joust.client.count(id)).toBe(5);
  });

  it("returns a separate transaction for each request of a group commit", async () => {
    const { client } = joust;
    await client.createTable("shared", items(1));
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) => insert("shared", items(1, { from: at }))),
    );
    expect(new Set(replies.map(({ json }) => json.transaction_id)).size).toBe(replies.length);
    for (const { json } of replies) {
      const reported = await client.post(`/v1/transaction/${json.transaction_id}/describe`, {});
      expect(reported.json.properties.version).toBe(String(json.version));
    }
    expect(await client.count("shared")).toBe(21);
  });

  it.each(["overwrite", "Overwrite"])("with mode %s replaces all rows", async (mode) => {
    const id = `replaced_${mode}`;
    await joust.client.createTable(id, items(5));
    const reply = await insert(id, items(2, { from: 100 }), { mode });
    expect(reply.json).toEqual({
      transaction_id: expect.any(String),
      num_inserted_rows: 2,
      version: 2,
    });
    expect(await joust.client.count(id)).toBe(2);
    expect(await joust.client.count(id, { version: 1 })).toBe(5);
  });

  it("keeps every row of many concurrent inserts", async () => {
    const { client } = joust;
    await client.createTable("busy", items(1));
    const replies = await Promise.all(
      Array.from({ length: 24 }, (_, at) => insert("busy", items(10, { from: 1 + at * 10 }))),
    );
    for (const reply of replies) {
      expect(reply.status).toBe(200);
      expect(reply.json.num_inserted_rows).toBe(10);
    }
    expect(await client.count("busy")).toBe(241);
    const rows = await client.query("busy", {
      k: 1000,
      vector: {},
      columns: { column_names: ["id"] },
    });
    const ids = new Set([...rows].map((row) => Number(row.id)));
    expect(ids.size).toBe(241);
  });

  it("is visible to the next read", async () => {
    const { client } = joust;
    await client.createTable("fresh", items(1));
    for (let rows = 1; rows < 20; rows++) {
      await client.insert("fresh", items(1, { from: rows }));
      expect(await client.count("fresh")).toBe(rows + 1);
    }
  });

  it("accepts rows without some columns and fills them with nulls", async () => {
    const { client } = joust;
    await client.createTable("partial", items(1));
    await client.insert("partial", stream({ id: [type.i64, [7n]] }));
    expect(await client.count("partial", { predicate: "name IS NULL AND id = 7" })).toBe(1);
  });

  it("accepts a stream without rows", async () => {
    await joust.client.createTable("nothing", stream({ id: [type.i64, [1n]] }));
    const reply = await insert("nothing", emptyStream({ id: type.i64 }));
    expect(reply.status).toBe(200);
    expect(reply.json.num_inserted_rows).toBe(0);
    expect(await joust.client.count("nothing")).toBe(1);
  });

  it("accepts main as branch", async () => {
    expect((await insert("refusing", items(0), { branch: "main" })).status).toBe(200);
  });

  it.each([
    ["an unknown mode", items(1), { mode: "upsert" }, /append, overwrite/],
    ["no body", new Uint8Array(0), {}, /./],
    ["a body that is not Arrow", new TextEncoder().encode("hello hello hello hello"), {}, /./],
    ["a truncated stream", items(500).slice(0, 9000), {}, /./],
  ])("rejects %s and changes nothing", async (_, body, params, detail) => {
    const before = await joust.client.count("refusing");
    expectFailure(await insert("refusing", body, params), 400, 13, detail);
    expect(await joust.client.count("refusing")).toBe(before);
  });

  it.each([
    ["a column missing in the table", stream({ id: [type.i64, [1n]], other: [type.i64, [1n]] })],
    ["a column with another type", stream({ id: [type.text, ["x"]] })],
    [
      "vectors with another dimension",
      stream({ id: [type.i64, [1n]], vector: [type.vector(3), [[1, 2, 3]]] }),
    ],
  ])("returns an error for %s", async (_, body) => {
    const reply = await insert("refusing", body);
    expect(reply.status).toBe(400);
    expect([12, 13, 20]).toContain(reply.json.code);
    expectFailure(reply, 400, reply.json.code);
    expect(await joust.client.count("refusing")).toBe(2);
  });

  it("returns 404 for a missing table or branch", async () => {
    expectFailure(await insert("none", items(1)), 404, 4, /none/);
    expectFailure(await insert("nowhere$t", items(1)), 404, 1, /nowhere/);
    expectFailure(await insert("refusing", items(1), { branch: "dev" }), 404, 22, /dev/);
  });
});
