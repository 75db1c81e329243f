import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { stream, type, vectors } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForJobResult } from "../../harness/jobs.js";
import { setupServer, type TestServer } from "../../harness/setup-server.js";

const warm = setupServer({ args: ["--row-cache", "64MiB"] });
const cold = setupServer({ args: ["--row-cache", "0"] });
const both: TestServer[] = [];
const least = -(2n ** 63n);

const rows = (due: bigint) =>
  stream({
    id: [type.i64, [least, -1n, 0n, 1n, 2n]],
    user: [type.text, ["ann", "bob", "ann", null, "eve"]],
    text: [type.text, Array(5).fill("some words")],
    due: [type.i64, Array(5).fill(due)],
    vector: [type.vector(8), vectors(5, 8)],
  });

const near = { vector: { single_vector: Array(8).fill(0.5) } };
const words = { full_text_query: { string_query: { query: "words" } } };
const kinds: [string, Json][] = [
  ["a query by filter", { vector: {} }],
  ["a query by vector", near],
  ["a query by text", words],
  ["a query by text that is filtered afterwards", { ...words, prefilter: false }],
  ["a query by vector and text", { ...near, ...words }],
];

async function indexed(joust: TestServer, id: string): Promise<void> {
  const index = { column: "text", index_type: "FTS" };
  const reply = await joust.client.ok(`/v1/table/${id}/create_index`, index);
  await waitForJobResult(joust.client, reply.transaction_id);
}

beforeAll(async () => {
  both.push(warm, cold);
  for (const joust of both) {
    await joust.client.createTable("t", rows(0n));
    await indexed(joust, "t");
  }
});

describe("a filter over time", () => {
  it.each(kinds)("is evaluated for each request by %s", async (kind, query) => {
    const due = BigInt(Math.ceil(Date.now() / 1_000) + 4);
    const id = `due_${kinds.findIndex(([own]) => own === kind)}`;
    await warm.client.createTable(id, rows(due));
    await indexed(warm, id);
    const asked = { ...query, columns: ["id"], filter: "due <= to_unixtime(now())" };
    const countMatches = async () => (await warm.client.query(id, asked)).numRows;
    // Often enough to fill every cache.
    for (let time = 0; time < 4; time++) expect(await countMatches()).toBe(0);
    expect(Date.now() / 1_000).toBeLessThan(Number(due));
    await pause(Number(due) * 1_000 - Date.now() + 100);
    expect(await countMatches()).toBe(5);
  });

  it("returns different rows if it is random", async () => {
    const count = 2_000;
    const ids = Array.from({ length: count }, (_, id) => BigInt(id));
    await warm.client.createTable("many", stream({ id: [type.i64, ids] }));
    const asked = { k: count, vector: {}, columns: ["id"], filter: "random() < 0.5" };
    const counts = new Set<number>();
    for (let time = 0; time < 6; time++) {
      counts.add((await warm.client.query("many", asked)).numRows);
    }
    expect(counts.size).toBeGreaterThan(1);
  });
});

describe("the state of a cache", () => {
  it.each<[string, number]>([
    ["id = -9223372036854775808", 1],
    ["id IN (-9223372036854775808, 1)", 2],
    ["id < -9223372036854775807", 1],
    ["id BETWEEN -9223372036854775808 AND -1", 2],
    ["id >= -9223372036854775808 AND user = 'ann'", 2],
    ["id = 0", 1],
    ["user = 'ann'", 2],
    ["`user` IN ('ann', 'eve')", 3],
    ["user <> 'ann'", 2],
    ["id > - 1", 3],
  ])("does not change the result of %s", async (filter, count) => {
    for (const joust of both) {
      for (let time = 0; time < 4; time++) {
        const countMatches = await joust.client.query("t", { vector: {}, filter, columns: ["id"] });
        expect(countMatches.numRows).toBe(count);
      }
      expect(await joust.client.count("t", { predicate: filter })).toBe(count);
    }
  });

  it("does not change that a column named twice is rejected", async () => {
    for (const joust of both) {
      for (const [, kind] of kinds) {
        for (let time = 0; time < 3; time++) {
          const asked = { k: 3, ...kind, columns: ["id", "id"] };
          const reply = await joust.client.post("/v1/table/t/query", asked);
          expectFailure(reply, 400, 13, /twice/);
        }
      }
    }
  });

  it.each([
    "null = 1",
    "true = 1",
    "interval = 1",
    "with = 1",
    "not in (1)",
    "id = 1e3",
    "nope = 1",
  ])("does not change whether %s is rejected", async (filter) => {
    const asked = { k: 3, vector: {}, filter, columns: ["id"] };
    const statuses = new Set<number>();
    for (const joust of [cold, warm, warm, warm]) {
      statuses.add((await joust.client.post("/v1/table/t/query", asked)).status);
    }
    expect(statuses.size).toBe(1);
  });
});
