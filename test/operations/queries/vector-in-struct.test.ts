import { Field, Struct } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const ROWS = 300;
const rows = Array.from({ length: ROWS }, (_, n) => n);

/** A struct whose field `embedding` is a vector. */
function vectorIn(dimension: number): Struct {
  return new Struct([
    new Field("label", type.text, true),
    new Field("embedding", type.vector(dimension), true),
  ]);
}

const embeddings = (dimension: number) =>
  rows.map((n) => ({
    label: `row ${n}`,
    embedding: Array.from({ length: dimension }, () => n),
  }));

beforeAll(async () => {
  const { client } = joust;
  const id = [type.i64, rows.map(BigInt)] as const;
  await client.createTable("one", stream({ id, image: [vectorIn(2), embeddings(2)] }));
  await client.createTable(
    "two",
    stream({
      id,
      image: [vectorIn(2), embeddings(2)],
      text: [vectorIn(2), embeddings(2)],
      "large image": [vectorIn(4), embeddings(4)],
    }),
  );
  await client.createTable("none", stream({ id }));
});

const nearest = (id: string, vector: number[], more = {}) =>
  joust.client.query(id, { k: 1, vector: { single_vector: vector }, ...more });
const refused = (id: string, vector: number[], more = {}) =>
  joust.client.post(`/v1/table/${id}/query`, {
    k: 1,
    vector: { single_vector: vector },
    ...more,
  });

describe("a vector column in a struct", () => {
  it("is searched if it is the only candidate", async () => {
    for (const more of [{}, { vector_column: "image.embedding" }]) {
      const result = await nearest("one", [7.1, 7.1], more);
      expect([...result].map((row) => Number(row.id))).toEqual([7]);
    }
    const result = await nearest("two", [7, 7, 7, 7]);
    expect([...result].map((row) => Number(row.id))).toEqual([7]);
  });

  it("is named in the error if several columns are candidates", async () => {
    expectFailure(
      await refused("two", [0, 0]),
      400,
      13,
      /image\.embedding.*text\.embedding.*vector_column/,
    );
  });

  it("is listed in the error if no column fits the query vector", async () => {
    expectFailure(await refused("none", [0, 0]), 400, 13, /No vector column.*no vector column/);
    expectFailure(await refused("one", [0]), 400, 13, /dimension: 1.*`image\.embedding` \(2\)/);
  });

  it("requires query vectors of its dimension", async () => {
    expectFailure(
      await refused("one", [0, 0, 0], { vector_column: "image.embedding" }),
      400,
      13,
      / query dim\(3\) doesn't match the column image\.embedding vector dim\(2\)/,
    );
  });

  it("can have an index that searches use", async () => {
    const { client } = joust;
    const index = { column: "image.embedding", index_type: "IVF_FLAT", num_partitions: 2 };
    await client.ok("/v1/table/one/create_index", index);
    const entry = await waitForIndex(client, "one", "image.embedding_idx");
    expect(entry).toMatchObject({ columns: ["image.embedding"], num_indexed_rows: ROWS });
    const query = { k: 1, vector: { single_vector: [9, 9] } };
    expect(await client.ok("/v1/table/one/explain_plan", { query })).toMatch(/ANN/);
    const result = await nearest("one", [9, 9]);
    expect([...result].map((row) => Number(row.id))).toEqual([9]);
  });
});
