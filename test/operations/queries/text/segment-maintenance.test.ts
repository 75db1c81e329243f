import { expect, it } from "vitest";
import { listIndexes } from "../../../harness/indexes.js";
import { waitForJobResult } from "../../../harness/jobs.js";
import { setupServer } from "../../../harness/setup-server.js";
import { waitFor } from "../../../harness/wait-for.js";
import { rows, search, textIndex, words } from "./text-tables.js";

const joust = setupServer();
const slow = { timeoutMs: 90_000, intervalMs: 200 };

const some = (from: number, count: number) =>
  rows(
    Array.from({ length: count }, (_, n) => ({
      id: from + n,
      title: `word${(from + n) % 10} text ${from + n}`,
      body: "the same in every row",
    })),
  );

const index = async (id: string) => (await listIndexes(joust.client, id))[0];

const result = async (id: string, query: string) => {
  const ids = await search(joust.client, id, { ...words(query, ["title"]), k: 10_000 });
  return ids.sort((a, b) => a - b);
};

it("new rows are added to the index as segments, and many segments are merged", async () => {
  const { client } = joust;
  await client.createTable("grows", some(0, 300));
  await textIndex(client, "grows", { column: "title" });
  const counts: number[] = [];
  for (let round = 1; round <= 3; round++) {
    await client.insert("grows", some(300 * round, 300));
    const entry = await waitFor(
      `round ${round} is indexed`,
      async () => {
        const entry = await index("grows");
        return entry.num_unindexed_rows === 0 && entry;
      },
      slow,
    );
    const { num_indices } = await client.ok("/v1/table/grows/index/title_idx/stats", {});
    counts.push(num_indices);
    expect(entry.num_indexed_rows).toBe(300 * (round + 1));
    expect(await result("grows", "word7")).toHaveLength(30 * (round + 1));
  }
  // The fourth segment of similar size causes a merge of all.
  expect(counts.slice(0, 2)).toEqual([2, 3]);
  await waitFor("the segments are merged", async () => {
    const { num_indices } = await client.ok("/v1/table/grows/index/title_idx/stats", {});
    return num_indices === 1;
  });
  expect(await result("grows", "1199")).toEqual([1199]);
}, 120_000);

it("rows removed by compaction are neither found nor counted", async () => {
  const { client } = joust;
  await client.createTable("plain", some(100, 300));
  await client.createTable("compacted", some(0, 400));
  await textIndex(client, "compacted", { column: "title" });
  await client.ok("/v1/table/compacted/delete", { predicate: "id < 100" });
  const { job_id } = await client.ok("/v1/table/compacted/compact", {});
  await waitForJobResult(client, job_id);
  expect((await client.ok("/v1/table/compacted/stats")).num_deleted_rows).toBe(0);
  await textIndex(client, "plain", { column: "title" });
  const scores = async (id: string) => {
    const result = await client.query(id, { k: 1_000, vector: {}, ...words("word4 99 399") });
    return result.toArray().map((row) => [Number(row.id), row._score]);
  };
  expect(await scores("compacted")).toEqual(await scores("plain"));
});

it("a segment with few live rows is rewritten without the deleted ones", async () => {
  const { client } = joust;
  await client.createTable("shrinks", some(0, 5_000));
  await textIndex(client, "shrinks", { column: "title" });
  const before = (await index("shrinks")).size_bytes;
  await client.ok("/v1/table/shrinks/delete", { predicate: "id >= 500" });
  await waitFor(
    "the index is small",
    async () => (await index("shrinks")).size_bytes < before / 4,
    slow,
  );
  expect(await result("shrinks", "word3")).toHaveLength(50);
  expect(await result("shrinks", "600")).toEqual([]);
}, 120_000);
