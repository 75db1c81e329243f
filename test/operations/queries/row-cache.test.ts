import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer, type TestServer } from "../../harness/setup-server.js";

const off = setupServer({ args: ["--row-cache", "0"] });
const small = setupServer({ args: ["--row-cache", "16KiB"] });
const large = setupServer({ args: ["--row-cache", "256MiB"] });
const settings: [string, TestServer][] = [
  ["off", off],
  ["small", small],
  ["large", large],
];
const vector = { single_vector: Array(8).fill(0.5) };
const queries: [string, Json][] = [
  ["all vectors", { k: 5, vector, columns: ["id", "name"] }],
  ["all vectors that a filter leaves", { k: 5, vector, filter: "category = 'c1'" }],
  ["distances in bounds", { k: 50, vector, lower_bound: 0.1, upper_bound: 0.6 }],
  ["rows by key", { k: 10, filter: "id IN (3, 5, 8, 3)", columns: ["name", "id"] }],
  ["rows by text", { k: 10, filter: "name = 'item 7'", with_row_id: true }],
  ["the first rows of a filter", { k: 3, offset: 2, filter: "id > 20", columns: ["id"] }],
];
const plan = async (joust: TestServer, query: Json, verbose = false): Promise<string> =>
  (await joust.client.post("/v1/table/t/explain_plan", { query, verbose })).json;

beforeAll(async () => {
  for (const [, { client }] of settings) {
    await client.createTable("t", items(300));
    await client.insert("t", items(50, { from: 300 }));
    await client.post("/v1/table/t/delete", { predicate: "id % 10 = 3" });
  }
});

describe("the row cache", () => {
  it.each(queries)("changes no result: %s", async (_, query) => {
    const expected = (await off.client.query("t", query)).toArray().map(String);
    expect(expected.length).toBeGreaterThan(0);
    for (const [, { client }] of settings) {
      // Repeated queries fill the cache.
      for (let asked = 0; asked < 12; asked++) {
        const rows = await client.query("t", query);
        expect(rows.toArray().map(String)).toEqual(expected);
      }
    }
  });

  it("is used only if it is large enough", async () => {
    const query = { k: 5, vector, columns: ["id", "name"] };
    expect(await plan(large, query)).toContain("all vectors of `vector` in memory");
    expect(await plan(off, query)).toMatch(/KNN/);
    expect((await plan(large, query, true)).length).toBeGreaterThan(
      (await plan(large, query)).length,
    );
    const reply = await large.client.post("/v1/table/t/analyze_plan", query);
    expect(reply.json).toMatch(/^AnalyzeExec /);
    expect(reply.json).toMatch(/KNNVectorDistance: .*, metrics=\[output_rows=5, elapsed=/);
    expect(reply.json).not.toContain(large.root);
  });

  it("sees writes at once", async () => {
    const query = { k: 1, filter: "id = 9000", columns: ["id"] };
    for (const [, { client }] of settings) {
      expect((await client.query("t", query)).numRows).toBe(0);
      await client.insert("t", items(1, { from: 9000 }));
      expect((await client.query("t", query)).numRows).toBe(1);
      await client.post("/v1/table/t/delete", { predicate: "id = 9000" });
      expect((await client.query("t", query)).numRows).toBe(0);
    }
  });

  it("rejects the same queries as Lance", async () => {
    const send = (body: Json) => large.client.post("/v1/table/t/query", body);
    expectFailure(await send({ k: 5, vector, filter: "nope = 1" }), 404, 12, /nope/);
    expectFailure(await send({ k: 5, vector, filter: "id = = 1" }), 400, 13);
    expectFailure(await send({ k: 5, vector: { single_vector: [1] } }), 400, 13, /dimension: 1/);
    expectFailure(await send({ k: 5, vector, distance_type: "hamming" }), 400, 13);
  });

  it("explains no query that it would reject", async () => {
    const explain = (filter: string) =>
      large.client.post("/v1/table/t/explain_plan", { query: { k: 5, vector, filter } });
    expect((await explain("id > 1")).status).toBe(200);
    expectFailure(await explain("nope = 1"), 404, 12, /nope/);
    expectFailure(await explain("id = = 1"), 400, 13);
  });
});
