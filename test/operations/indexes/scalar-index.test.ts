import { Field, List, Struct } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { listIndexes, waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const ROWS = 1000;

beforeAll(async () => {
  const ids = Array.from({ length: ROWS }, (_, n) => n);
  await joust.client.createTable(
    "t",
    stream({
      id: [type.i64, ids.map(BigInt)],
      word: [type.text, ids.map((n) => `word${n % 7}`)],
      tags: [type.texts, ids.map((n) => [`a${n % 3}`, `b${n % 5}`])],
      price: [type.f64, ids.map((n) => n / 4)],
    }),
  );
});

describe("scalar indexes", () => {
  it.each([
    ["BTREE", "id", "id = 77", 1],
    ["BITMAP", "word", "word = 'word3'", 143],
    ["LABEL_LIST", "tags", "array_has_any(tags, ['a1'])", 333],
    ["NGRAM", "word", "contains(word, 'ord3')", 143],
    ["ZONEMAP", "price", "price < 1", 4],
    ["BLOOM_FILTER", "id", "id = 500", 1],
    ["FM", "word", "contains(word, 'ord3')", 143],
  ])("%s can be built, listed, used and dropped", async (index_type, column, filter, rows) => {
    const { client } = joust;
    for (const operation of ["create_scalar_index", "create_index"]) {
      const reply = await client.post(`/v1/table/t/${operation}`, { column, index_type });
      expect(reply.status).toBe(200);
      expect(reply.json.transaction_id).toBeTruthy();
      const name = `${column}_idx`;
      expect(await waitForIndex(client, "t", name)).toMatchObject({
        columns: [column],
        index_type,
        num_indexed_rows: ROWS,
        num_unindexed_rows: 0,
      });
      const stats = await client.ok(`/v1/table/t/index/${name}/stats`);
      expect(stats).toMatchObject({ index_type, num_indexed_rows: ROWS });
      expect(stats).not.toHaveProperty("distance_type");
      expect(await client.count("t", { predicate: filter })).toBe(rows);
      await client.ok(`/v1/table/t/index/${name}/drop`, {});
      expectFailure(await client.post(`/v1/table/t/index/${name}/stats`), 404, 6);
    }
  });

  it("a filter query uses the index", async () => {
    const { client } = joust;
    await client.ok("/v1/table/t/create_scalar_index", {
      column: "id",
      index_type: "btree",
      name: "by_id",
    });
    await waitForIndex(client, "t", "by_id");
    const plan = await client.ok("/v1/table/t/explain_plan", {
      query: { k: 10, vector: {}, filter: "id = 77" },
    });
    expect(plan).toMatch(/by_id|ScalarIndex/);
    await client.ok("/v1/table/t/index/by_id/drop");
  });

  it("a text query uses a native full-text index", async () => {
    const { client } = joust;
    await client.ok("/v1/table/t/create_scalar_index", {
      column: "word",
      index_type: "INVERTED",
      name: "text",
    });
    await waitForIndex(client, "t", "text");
    const result = await client.query("t", {
      k: 1000,
      vector: {},
      full_text_query: { string_query: { query: "word3" } },
    });
    expect(result.numRows).toBe(143);
    await client.ok("/v1/table/t/index/text/drop");
  });

  it("create_scalar_index does not build vector indexes", async () => {
    const { client } = joust;
    await client.createTable(
      "with_vector",
      stream({
        v: [
          type.vector(2),
          [
            [1, 2],
            [3, 4],
          ],
        ],
      }),
    );
    const reply = await client.post("/v1/table/with_vector/create_scalar_index", {
      column: "v",
      index_type: "IVF_FLAT",
    });
    expectFailure(reply, 400, 13, /create_index/);
  });

  it("LABEL_LIST is rejected on a list of structs", async () => {
    const { client } = joust;
    const entry = new Struct([new Field("name", type.text, true)]);
    const entries = new List(new Field("item", entry, true));
    await client.createTable("structs", stream({ entries: [entries, [[{ name: "a" }], []]] }));
    const index = { column: "entries", index_type: "LABEL_LIST" };
    expectFailure(
      await client.post("/v1/table/structs/create_index", index),
      400,
      13,
      /LabelList index cannot be created on `entries`.*list of single values/,
    );
  });

  it("one column can have two indexes with different names", async () => {
    const { client } = joust;
    for (const [name, index_type] of [
      ["first", "BTREE"],
      ["second", "BTREE"],
      ["third", "BITMAP"],
    ]) {
      await client.ok("/v1/table/t/create_index", { column: "word", index_type, name });
    }
    for (const name of ["first", "second", "third"]) {
      expect(await waitForIndex(client, "t", name)).toMatchObject({ columns: ["word"] });
    }
    expect(await client.count("t", { predicate: "word = 'word3'" })).toBe(143);
    await client.ok("/v1/table/t/index/first/drop", {});
    expect((await listIndexes(client, "t")).map((index) => index.index_name)).toContain("second");
    expect(await client.count("t", { predicate: "word = 'word3'" })).toBe(143);
  });
});
