import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import { waitForJobResult } from "../harness/jobs.js";
import { setupServer } from "../harness/setup-server.js";

const joust = setupServer();
const start = (id: string, body: object = {}) => joust.client.post(`/v1/table/${id}/compact`, body);

async function compact(id: string, body: object = {}) {
  const answer = await start(id, body);
  expect(answer.status).toBe(202);
  return waitForJobResult(joust.client, answer.json.job_id);
}

const fragments = async (id: string, body: object = {}): Promise<number> =>
  (await joust.client.ok(`/v1/table/${id}/stats`, body)).fragment_stats.num_fragments;

/** A table of ten fragments. */
async function scattered(id: string): Promise<void> {
  await joust.client.createTable(id, items(100));
  for (let from = 100; from < 1_000; from += 100) {
    await joust.client.insert(id, items(100, { from }));
  }
}

beforeAll(() => scattered("t"));

describe("compaction", () => {
  it("merges small fragments and keeps rows, ids and indexes", async () => {
    for (const index of [
      { column: "id", index_type: "BTREE" },
      { column: "vector", index_type: "IVF_FLAT", distance_type: "l2" },
    ]) {
      const { transaction_id } = await joust.client.ok("/v1/table/t/create_index", index);
      await waitForJobResult(joust.client, transaction_id);
    }
    const query = { vector: {}, k: 2_000, with_row_id: true, columns: { column_names: ["id"] } };
    const ids = async () =>
      (await joust.client.query("t", query)).toArray().map((row) => [row.id, row._rowid]);
    const before = await ids();
    expect(await fragments("t")).toBe(10);
    const done = await compact("t");
    expect(done).toMatchObject({ fragments_removed: 10, fragments_added: 1 });
    expect(done.published_version).toBeGreaterThan(done.source_version);
    expect(await fragments("t")).toBe(1);
    expect(await ids()).toEqual(before);
    const { indexes } = await joust.client.ok("/v1/table/t/index/list", {});
    for (const index of indexes) {
      expect(index).toMatchObject({ num_indexed_rows: 1_000, num_unindexed_rows: 0 });
    }
    expect(await joust.client.count("t", { predicate: "id = 777" })).toBe(1);
    // A second compaction does nothing.
    expect(await compact("t", { concurrency: 2 })).not.toHaveProperty("published_version");
  });

  it("removes deleted rows from the files", async () => {
    await joust.client.createTable("d", items(1_000));
    await joust.client.ok("/v1/table/d/delete", { predicate: "id >= 950" });
    expect(await compact("d")).not.toHaveProperty("published_version");
    expect(await compact("d", { materialize_deletions_threshold: 0.01 })).toMatchObject({
      fragments_removed: 1,
    });
    const { num_rows, num_deleted_rows } = await joust.client.ok("/v1/table/d/stats");
    expect([num_rows, num_deleted_rows]).toEqual([950, 0]);
  });

  it("uses the requested fragment size", async () => {
    await scattered("sized");
    await compact("sized", { target_rows_per_fragment: 300 });
    expect(await fragments("sized")).toBeGreaterThan(1);
    expect(await fragments("sized")).toBeLessThan(10);
    expect(await joust.client.count("sized")).toBe(1_000);
  });

  it("can compact a branch", async () => {
    await scattered("tree");
    await joust.client.ok("/v1/table/tree/branches/create", { name: "dev" });
    await compact("tree", { branch: "dev" });
    expect(await fragments("tree")).toBe(10);
    expect(await fragments("tree", { branch: "dev" })).toBe(1);
  });

  it("loses no concurrent write", async () => {
    await scattered("busy");
    const { job_id } = (await start("busy")).json;
    for (let round = 0; round < 10; round++) {
      await joust.client.insert("busy", items(10, { from: 1_000 + round * 10 }));
      await joust.client.ok("/v1/table/busy/delete", { predicate: `id = ${round * 90}` });
    }
    await waitForJobResult(joust.client, job_id);
    expect(await joust.client.count("busy")).toBe(1_090);
    await compact("busy");
    expect(await joust.client.count("busy")).toBe(1_090);
  });

  it.each<[object, number, number, RegExp]>([
    [{ target_rows_per_fragment: 0 }, 400, 13, /target_rows_per_fragment/],
    [{ target_rows_per_fragment: "x" }, 400, 13, /target_rows_per_fragment/],
    [{ materialize_deletions_threshold: 2 }, 400, 13, /materialize_deletions_threshold/],
    [{ materialize_deletions_threshold: -1 }, 400, 13, /materialize_deletions_threshold/],
    [{ concurrency: 0 }, 400, 13, /concurrency/],
    [{ branch: "nope" }, 404, 22, /nope/],
  ])("rejects %o", async (body, status, code, detail) => {
    expectFailure(await start("t", body), status, code, detail);
  });

  it("fails for a missing table or branch", async () => {
    expectFailure(await start("missing"), 404, 4);
    expectFailure(await start("no$t"), 404, 1);
  });
});
