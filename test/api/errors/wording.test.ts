import {
  type DataType,
  Field,
  Int64,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import { type Answer, ARROW_STREAM, type Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();

/** Engine internals: debug dumps, enum variants, crates, source locations. */
const internals =
  /[{}]|Some\(|None\b|\bOk\(|Err\(|encoding|dict_id|metadata:|Field\b|Schema\b|DataType|LanceError|DataFusion|[A-Z]\w+ error:|\.rs\b|::\w|\/tmp\//;

/** The error message contains no engine internals. */
function expectClientMessage(answer: Answer): void {
  expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
  expect(answer.status, answer.text).toBeLessThan(500);
  expect(answer.json.detail).not.toMatch(internals);
  expect(answer.json.detail.length).toBeLessThan(600);
}

/** A table with two columns of the same name. Arrow tables index columns by name, so the bytes are patched. */
function twice(): Uint8Array {
  const fields = [new Field("id", new Int64(), true), new Field("ie", new Int64(), true)];
  const column = vectorFromArray([1n, 2n], new Int64());
  const bytes = tableToIPC(new Table(new Schema(fields), { id: column, ie: column }), "stream");
  return renamed(bytes);
}

/** Renames the column `ie` to `id` in the bytes: both names have the same length. */
function renamed(bytes: Uint8Array): Uint8Array {
  const at = Buffer.from(bytes).indexOf("ie\0");
  const copy = Uint8Array.from(bytes);
  copy[at + 1] = "d".charCodeAt(0);
  return copy;
}

/** Two members of one struct with the same name. */
function twiceWithin(): Uint8Array {
  const members = [new Field("id", new Int64(), true), new Field("ie", new Int64(), true)];
  const row = new Struct(members as Field<DataType>[]);
  const column = vectorFromArray([{ id: 1n, ie: 2n }], row);
  const schema = new Schema([new Field("s", row, true)]);
  return renamed(tableToIPC(new Table(schema, { s: column }), "stream"));
}

beforeAll(async () => {
  await joust.client.createTable("t", items(20));
  await joust.client.createTable(
    "texts",
    stream({ id: [type.i64, [1n]], note: [type.text, ["x"]] }),
  );
});

describe("a schema with two columns of the same name", () => {
  it.each<[string, string, Record<string, string>]>([
    ["create", "new/create", {}],
    ["overwrite", "t/create", { mode: "overwrite" }],
    ["insert", "t/insert", {}],
    ["overwriting insert", "t/insert", { mode: "overwrite" }],
    ["merge", "t/merge_insert", { on: "id", when_not_matched_insert_all: "true" }],
    ["add_columns", "t/add_columns/", {}],
  ])("is rejected by %s", async (_, path, params) => {
    for (const [body, wording] of [
      [twice(), /the schema has two columns `id`/],
      [twiceWithin(), /`s` has two columns `id`/],
    ] as const) {
      const answer = await joust.client.post(`/v1/table/${path}`, body, params);
      expectFailure(answer, 400, 20, wording);
      expectClientMessage(answer);
    }
    expect(await joust.client.count("t")).toBe(20);
  });
});

describe("a request that the engine rejects", () => {
  const vector = Array(8).fill(0.5);
  const query = (body: Json) => () =>
    joust.client.post("/v1/table/t/query", { k: 3, vector: {}, ...body });
  const post = (path: string, body: Json) => () => joust.client.post(`/v1/table/${path}`, body);
  const upload =
    (path: string, bytes: Uint8Array, params: Record<string, string> = {}) =>
    () =>
      joust.client.post(`/v1/table/${path}`, bytes, params);
  const other = stream({ id: [type.text, ["a"]], vector: [type.texts, [["a"]]] });
  const wide = stream({ id: [type.i64, [1n]], vector: [type.vector(3), [[1, 2, 3]]] });
  const merge = { on: "id", when_matched_update_all: "true", when_not_matched_insert_all: "true" };

  it.each<[string, () => Promise<Answer>]>([
    ["an insert with other types", upload("t/insert", other)],
    ["an insert with another dimension", upload("t/insert", wide)],
    ["a merge with other types", upload("t/merge_insert", other, merge)],
    ["a merge with another dimension", upload("t/merge_insert", wide, merge)],
    ["columns missing in the table", upload("t/insert", stream({ nope: [type.i64, [1n]] }))],
    [
      "a key column missing in the source",
      upload("t/merge_insert", stream({ x: [type.i64, [1n]] }), merge),
    ],
    ["a filter of a vector", query({ filter: "vector = 1" })],
    ["a filter that compares different types", query({ filter: "id = 'x'" })],
    ["a filter that is not boolean", query({ filter: "id + 1" })],
    ["a filter with a cast that fails", query({ filter: "CAST(name AS BIGINT) > 1" })],
    ["an unknown function", query({ filter: "nope(id) = 1" })],
    ["a function with wrong arguments", query({ filter: "upper(id, id, id) = 'X'" })],
    ["a subquery", query({ filter: "id IN (SELECT 1)" })],
    ["an invalid column alias", query({ columns: { column_aliases: { x: "name + vector" } } })],
    [
      "a vector search on a text column",
      query({ vector: { single_vector: vector }, vector_column: "name" }),
    ],
    ["an unknown metric", query({ vector: { single_vector: vector }, distance_type: "nope" })],
    ["a count with a predicate that is not boolean", post("t/count_rows", { predicate: "name" })],
    ["a delete with a predicate that is not boolean", post("t/delete", { predicate: "vector" })],
    ["an update to another type", post("t/update", { updates: [["vector", "'x'"]] })],
    ["an update that fails", post("t/update", { updates: [["id", "CAST(name AS BIGINT)"]] })],
    [
      "a cast that fails",
      post("t/alter_columns", { alterations: [{ path: "vector", data_type: "int64" }] }),
    ],
    [
      "a null in a non-null column",
      post("t/alter_columns", { alterations: [{ path: "id", nullable: 3 }] }),
    ],
    [
      "a rename to a taken name",
      post("t/alter_columns", { alterations: [{ path: "id", rename: "name" }] }),
    ],
    [
      "a column with an invalid expression",
      post("t/add_columns", { new_columns: [{ name: "x", expression: "vector + name" }] }),
    ],
    ["an index of another type", post("t/create_index", { column: "name", index_type: "IVF_PQ" })],
    [
      "a scalar index on a vector",
      post("t/create_scalar_index", { column: "vector", index_type: "BTREE" }),
    ],
  ])("gets a message in joust's words: %s", async (_, send) => {
    expectClientMessage(await send());
  });

  it("gets a message in joust's words: invalid JSON text in a JSON column", async () => {
    const json = new Map([["ARROW:extension:name", "arrow.json"]]);
    const schema = new Schema([new Field("j", new Utf8(), true, json)]);
    const broken = new Table(schema, { j: vectorFromArray(["{broken"], new Utf8()) });
    const answer = await joust.client.request("/v1/table/broken/create", {
      body: tableToIPC(broken, "stream"),
      headers: { "content-type": ARROW_STREAM },
    });
    expectClientMessage(answer);
  });
});
