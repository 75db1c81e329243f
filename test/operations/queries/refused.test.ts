import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const query = (body: object | string) => joust.client.post("/v1/table/t/query", body);
const near = { single_vector: [0, 0, 0, 0, 0, 0, 0, 0] };

beforeAll(async () => {
  await joust.client.createTable("t", items(20));
});

describe("an invalid query", () => {
  it.each<[string, object | string, RegExp]>([
    ["no body", "", /./],
    ["a body that is not JSON", "{", /JSON/],
    ["a body that is not an object", "[1]", /./],
    ["no k", { vector: near }, /k/],
    ["a negative k", { k: -1, vector: near }, /k/],
    ["a fractional k", { k: 1.5, vector: near }, /k/],
    ["a k that is a string", { k: "ten", vector: near }, /k/],
    ["a vector that is a string", { k: 1, vector: "x" }, /vector/],
    ["vector elements that are strings", { k: 1, vector: { single_vector: ["a"] } }, /vector/],
    ["not-a-number", '{"k":1,"vector":{"single_vector":[NaN,0,0,0,0,0,0,0]}}', /./],
    [
      "a null among the vector elements",
      { k: 1, vector: { single_vector: [null, 0, 0, 0, 0, 0, 0, 0] } },
      /vector/,
    ],
    [
      "a vector element that is too large",
      '{"k":1,"vector":{"single_vector":[1e300,0,0,0,0,0,0,0]}}',
      /vector/,
    ],
    ["both forms of a vector", { k: 1, vector: { ...near, multi_vector: [[1]] } }, /both/],
    ["a vector that is too short", { k: 1, vector: { single_vector: [1, 2, 3] } }, /8/],
    ["vectors of different lengths", { k: 1, vector: { multi_vector: [[1], [1, 2]] } }, /./],
    [
      "both forms of columns",
      { k: 1, vector: near, columns: { column_names: ["id"], column_aliases: { a: "id" } } },
      /both/,
    ],
    ["columns that are a string", { k: 1, vector: near, columns: "id" }, /columns/],
    ["an unknown distance", { k: 1, vector: near, distance_type: "manhattan" }, /l2/],
    ["hamming on floats", { k: 1, vector: near, distance_type: "hamming" }, /hamming/],
    ["a column without vectors", { k: 1, vector: near, vector_column: "name" }, /name/],
    ["broken SQL", { k: 1, vector: near, filter: "id = = 1" }, /./],
    ["SQL that is not a condition", { k: 1, vector: near, filter: "id + 1" }, /./],
    ["an unknown function", { k: 1, vector: {}, filter: "no_such(id)" }, /no_such/],
    ["a filter with trailing text", { k: 1, vector: {}, filter: "id = 3 garbage" }, /./],
    ["a placeholder", { k: 1, vector: {}, filter: "id = ?" }, /./],
    ["an aggregate", { k: 1, vector: {}, filter: "count(id) = 3" }, /^((?!\{).)*$/],
    ["types that cannot be compared", { k: 1, vector: {}, filter: "vector > 'x'" }, /./],
    ["negative nprobes", { k: 1, vector: near, nprobes: -1 }, /nprobes/],
    ["ef that is a string", { k: 1, vector: near, ef: "many" }, /ef/],
    ["a negative offset", { k: 1, vector: near, offset: -1 }, /offset/],
    ["a flag that is a number", { k: 1, vector: near, prefilter: 1 }, /prefilter/],
    ["another table's id", { k: 1, vector: near, id: ["other"] }, /id/],
  ])("is rejected for %s", async (_, body, detail) => {
    expectFailure(await query(body), 400, 13, detail);
  });

  it.each<[string, object, number, RegExp]>([
    ["column", { columns: { column_names: ["nope"] } }, 12, /nope/],
    ["column behind an alias", { columns: { column_aliases: { a: "nope" } } }, 12, /nope/],
    ["column in the filter", { filter: "nope = 1" }, 12, /nope/],
    ["vector column", { vector_column: "nope" }, 12, /nope/],
    ["version", { version: 99 }, 11, /99/],
    ["branch", { branch: "dev" }, 22, /dev/],
  ])("returns 404 for an unknown %s", async (_, body, code, detail) => {
    expectFailure(await query({ k: 1, vector: near, ...body }), 404, code, detail);
  });

  it("returns 404 for an unknown table", async () => {
    const reply = await joust.client.post("/v1/table/none/query", { k: 1, vector: near });
    expectFailure(reply, 404, 4, /none/);
  });

  it("is rejected for another content type", async () => {
    const reply = await joust.client.request("/v1/table/t/query", {
      body: '{"k":1}',
      headers: { "content-type": "text/plain" },
    });
    expectFailure(reply, 415, 13, /application\/json/);
  });

  it("leaves the server unchanged", async () => {
    const rows = await joust.client.query("t", { k: 3, vector: near });
    expect(rows.numRows).toBe(3);
  });
});
