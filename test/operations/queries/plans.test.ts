import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

/** Plans of Lance; row-cache.test.ts covers the others. */
const joust = setupServer({ args: ["--row-cache", "0"] });
const vector = { single_vector: Array(8).fill(0.5) };
const explain = (body: object) => joust.client.post("/v1/table/t/explain_plan", body);
const analyze = (body: object) => joust.client.post("/v1/table/t/analyze_plan", body);

beforeAll(async () => {
  await joust.client.createTable("t", items(100));
});

describe("explain_plan", () => {
  it("returns text that names the steps", async () => {
    const reply = await explain({ query: { k: 5, vector, filter: "id > 3" } });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toMatch(/^application\/json/);
    expect(typeof reply.json).toBe("string");
    expect(reply.json).toMatch(/KNN|Knn/);
    expect(reply.json).toMatch(/id > /);
    expect(reply.json).not.toContain(joust.root);
  });

  it("returns more detail with verbose", async () => {
    const query = { k: 5, vector };
    const brief = (await explain({ query })).json;
    const verbose = (await explain({ query, verbose: true })).json;
    expect(verbose.length).toBeGreaterThan(brief.length);
  });

  it.each([
    ["no query", {}, 400, 13, /query/],
    ["a query without k", { query: { vector } }, 400, 13, /k/],
    ["a flag that is a string", { query: { k: 1, vector }, verbose: "yes" }, 400, 13, /verbose/],
    ["broken SQL", { query: { k: 1, vector, filter: "id = = 1" } }, 400, 13, /./],
    ["an unknown column", { query: { k: 1, vector, filter: "nope = 1" } }, 404, 12, /nope/],
    ["an unknown version", { query: { k: 1, vector, version: 99 } }, 404, 11, /99/],
    ["another id", { id: ["other"], query: { k: 1, vector } }, 400, 13, /id/],
  ])("rejects %s", async (_, body, status, code, detail) => {
    expectFailure(await explain(body), status, code, detail);
  });
});

describe("analyze_plan", () => {
  it("runs the query and returns metrics", async () => {
    const reply = await analyze({ k: 5, vector });
    expect(reply.status).toBe(200);
    expect(typeof reply.json).toBe("string");
    expect(reply.json).toMatch(/output_rows=\d+/);
    expect(reply.json).not.toContain(joust.root);
  });

  it("rejects what a query rejects", async () => {
    expectFailure(await analyze({ vector }), 400, 13, /k/);
    expectFailure(await analyze({ k: 1, vector, filter: "nope = 1" }), 404, 12, /nope/);
    expectFailure(await joust.client.post("/v1/table/none/analyze_plan", { k: 1, vector }), 404, 4);
  });
});
