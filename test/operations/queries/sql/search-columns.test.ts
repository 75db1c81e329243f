import {
  Field,
  LargeBinary,
  List,
  Schema,
  Struct,
  Table,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../../harness/arrow.js";
import { setupServer } from "../../../harness/setup-server.js";
import { sqlClient } from "./sql-client.js";

const joust = setupServer();
const { arrow, rows } = sqlClient(joust);

const extension = (name: string) => new Map([["ARROW:extension:name", name]]);

/** Rows with values that Lance stores in another form than it returns them, and with unusual names. */
function documents(): Uint8Array {
  const stored = new Struct([
    new Field("data", new LargeBinary(), true),
    new Field("uri", new Utf8(), true),
  ]);
  const person = new Struct([new Field("name", new Utf8(), true)]);
  const schema = new Schema([
    new Field("id", type.i64, true),
    new Field("meta", type.text, true, extension("arrow.json")),
    new Field("image", stored, true, extension("lance.blob.v2")),
    new Field("author", person, true),
    new Field("Two Words", type.text, true),
    new Field("vector", type.vector(2), true),
  ]);
  const numbers = [0, 1, 2, 3];
  return stream(
    new Table(schema, {
      id: vectorFromArray(numbers.map(BigInt), type.i64),
      meta: vectorFromArray(
        numbers.map((n) => (n === 1 ? null : `{"rank":${n}}`)),
        type.text,
      ),
      image: vectorFromArray(
        numbers.map((n) => (n === 2 ? null : { data: new Uint8Array([n, 255]), uri: null })),
        stored,
      ),
      author: vectorFromArray(
        numbers.map((n) => ({ name: `a${n}` })),
        person,
      ),
      "Two Words": vectorFromArray(
        numbers.map((n) => `w${n}`),
        type.text,
      ),
      vector: vectorFromArray(
        numbers.map((n) => [n, 0]),
        type.vector(2),
      ),
    }),
  );
}

const search = "vector_search('documents', 'vector', [3, 0])";

beforeAll(async () => {
  await joust.client.createTable("documents", documents());
});

describe("the columns of a search", () => {
  it("have the types and values of the table's columns in a SELECT", async () => {
    const columns = `id, meta, image, author, "Two Words", vector`;
    const [searched, selected] = [
      await arrow(`SELECT ${columns} FROM ${search} ORDER BY id`),
      await arrow(`SELECT ${columns} FROM documents ORDER BY id`),
    ];
    expect(searched.schema.fields.map(String)).toEqual(selected.schema.fields.map(String));
    expect(searched.toString()).toBe(selected.toString());
    expect(await rows(`SELECT id, meta, image, author FROM ${search} WHERE id < 3`)).toEqual([
      { id: 2, meta: '{"rank":2}', image: null, author: { name: "a2" } },
      { id: 1, meta: null, image: "Af8=", author: { name: "a1" } },
      { id: 0, meta: '{"rank":0}', image: "AP8=", author: { name: "a0" } },
    ]);
  });

  it.each([
    ["author.name = 'a1'", [1]],
    ["s.author.name IN ('a0', 'a1')", [1, 0]],
    ["s.author['name'] = 'a0'", [0]],
    ["json_get_int(meta, 'rank') < 3", [2, 0]],
    [`"Two Words" = 'w1' OR s."Two Words" = 'w0'`, [1, 0]],
    ["image IS NULL", [2]],
    ["CAST(id AS TEXT) || 'x' = '1x'", [1]],
    ["id % 2 = 1 AND NOT author.name LIKE '%3'", [1]],
  ])("restrict it: %s", async (condition, ids) => {
    // One row fewer than the condition selects, so that a condition on the rows found would find less.
    const k = Math.max(1, ids.length - 1);
    const found = await rows(
      `SELECT id FROM vector_search('documents', 'vector', [3, 0], ${k}) AS s WHERE ${condition}`,
    );
    expect(found.map((row) => row.id)).toEqual(ids.slice(0, k));
  });

  it("may have several vectors in a row, and then the query has several too", async () => {
    const rowsOf = Array.from({ length: 6 }, (_, n) => [
      [Math.cos(n / 10), Math.sin(n / 10)],
      [1, n],
    ]);
    const { client } = joust;
    await client.createTable(
      "many",
      stream({
        id: [type.i64, rowsOf.map((_, n) => BigInt(n))],
        vectors: [new List(new Field("item", type.vector(2), true)), rowsOf],
      }),
    );
    const multi_vector = [
      [1, 0],
      [1, 0.05],
    ];
    const query = { k: 3, vector: { multi_vector }, distance_type: "cosine" };
    const expected = (await client.query("many", query)).toArray().map((row) => Number(row.id));
    expect(expected).toHaveLength(3);
    for (const vector of ["$1", "[[1, 0], [1, 0.05]]"]) {
      const found = await rows(
        `SELECT id FROM vector_search('many', 'vectors', ${vector}, 3, distance_type => 'cosine')`,
        { ...(vector === "$1" && { parameters: [multi_vector] }) },
      );
      expect(found.map((row) => row.id)).toEqual(expected);
    }
  });
});
