import { describe, expect, it } from "vitest";
import { emptyStream, items, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer();
const stats = (id: string, body?: object) => joust.client.post(`/v1/table/${id}/stats`, body);

describe("table statistics", () => {
  it("count live rows, fragments, bytes and indexes", async () => {
    const { client } = joust;
    await client.createTable("t", items(10));
    await client.insert("t", items(30, { from: 10 }));
    await client.ok("/v1/table/t/delete", { predicate: "id < 2" });
    await client.ok("/v1/table/t/create_scalar_index", { column: "id", index_type: "BTREE" });
    const result = await waitFor("the index is counted", async () => {
      const { json } = await stats("t", {});
      return json.num_indices === 1 && json;
    });
    expect(result).toEqual({
      total_bytes: expect.any(Number),
      num_rows: 38,
      num_deleted_rows: 2,
      num_indices: 1,
      fragment_stats: {
        num_fragments: 2,
        num_small_fragments: 2,
        lengths: { min: 8, max: 30, mean: 19, p25: 8, p50: 30, p75: 30, p99: 30 },
      },
      maintenance: expect.objectContaining({
        state: expect.stringMatching(/^(idle|queued|running)$/),
        compaction_due: false,
        num_unindexed_rows: 0,
        keep_versions_ms: 7 * 24 * 3600 * 1000,
      }),
    });
    // Vectors alone take 40 * 8 * 4 bytes.
    expect(result.total_bytes).toBeGreaterThan(40 * 8 * 4);
  });

  it("include the bytes of indexes", async () => {
    const { client } = joust;
    await client.createTable("indexed", items(100));
    let { total_bytes: before } = (await stats("indexed")).json;
    for (const [column, index_type] of [
      ["id", "BTREE"],
      ["name", "FTS"],
    ]) {
      await client.ok("/v1/table/indexed/create_index", { column, index_type });
      const entry = await waitForIndex(client, "indexed", `${column}_idx`);
      const { total_bytes: after } = (await stats("indexed")).json;
      expect(after - before, index_type).toBe(entry.size_bytes);
      expect(after).toBeGreaterThan(before);
      before = after;
    }
  });

  it("are all zero for an empty table", async () => {
    await joust.client.createTable("empty", emptyStream({ id: type.i64 }));
    const { json } = await stats("empty");
    expect(json.num_rows).toBe(0);
    expect(json.fragment_stats).toEqual({
      num_fragments: 0,
      num_small_fragments: 0,
      lengths: { min: 0, max: 0, mean: 0, p25: 0, p50: 0, p75: 0, p99: 0 },
    });
  });

  it("return 404 for a missing table or branch", async () => {
    expectFailure(await stats("none"), 404, 4, /none/);
    await joust.client.createTable("main_only", items(1));
    expectFailure(await stats("main_only", { branch: "dev" }), 404, 22, /dev/);
    expect((await stats("main_only", { branch: "main" })).status).toBe(200);
  });
});
