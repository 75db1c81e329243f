import { describe, expect, it } from "vitest";
import { queryKind } from "../../../src/operations/queries/query-kind.js";

const kindOf = (body: object | string): string =>
  queryKind(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));

const text = { match: { column: "a", terms: "b" } };
const long = Array.from({ length: 2_000 }, (_, n) => -n / 3);

describe("the kind of a query", () => {
  it.each([
    ["vector", { k: 1, vector: [0.5, 1] }],
    ["vector", { filter: "id > 3", vector: long }],
    ["vector", { vector: { single_vector: [-1] } }],
    ["vector", { vector: { single_vector: [], multi_vector: [[1, 2]] } }],
    [
      "vector",
      {
        vector: [
          [1, 2],
          [3, 4],
        ],
      },
    ],
    ["vector", { query: { k: 1, vector: [1] } }],
    ["vector", '{ "vector" :\n [ -1.5 ] }'],
    ["text", { vector: [], full_text_query: text }],
    ["text", { full_text_query: "b" }],
    ["hybrid", { vector: [1], full_text_query: text }],
    ["hybrid", { full_text_query: text, vector: long }],
    ["scan", {}],
    ["scan", { k: 10, vector: [] }],
    ["scan", { vector: null, full_text_query: null, k: 10 }],
    ["scan", { vector: {}, full_text_query: {}, k: 10 }],
    ["scan", { vector: { single_vector: [], multi_vector: [] }, k: 10 }],
    ["scan", { vector_column: "vector", columns: ["vector", "full_text_query"], k: 1 }],
    ["scan", "no JSON"],
    ["scan", ""],
  ])("is %s for %j", (kind, body) => {
    expect(kindOf(body)).toBe(kind);
  });

  it("does not depend on what values quote", () => {
    const filter = 'a = \'"vector": [1], "full_text_query": {"match": 1}\'';
    expect(kindOf({ filter, vector: [] })).toBe("scan");
    expect(kindOf({ filter, vector: [1] })).toBe("vector");
  });

  it("is found in a part of a larger buffer", () => {
    const bytes = Buffer.from('{"vector": [1]} {"vector": []}');
    expect(queryKind(bytes.subarray(0, 15))).toBe("vector");
    expect(queryKind(new Uint8Array(bytes).subarray(15))).toBe("scan");
  });
});
