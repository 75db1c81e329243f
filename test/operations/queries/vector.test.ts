import type { Table } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { emptyStream, items, stream, type } from "../../harness/arrow.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();

/** Points on a line: row n is at (n, 0), so distances are known. */
const line = (count: number) =>
  stream({
    id: [type.i64, Array.from({ length: count }, (_, n) => BigInt(n))],
    label: [type.text, Array.from({ length: count }, (_, n) => (n % 2 ? "odd" : "even"))],
    vector: [type.vector(2), Array.from({ length: count }, (_, n) => [n, 0])],
  });
const ids = (rows: Table) => [...rows].map((row) => Number(row.id));
const at = (x: number, y = 0) => ({ single_vector: [x, y] });

beforeAll(async () => {
  await joust.client.createTable("line", line(100));
});

describe("a vector query", () => {
  it("returns the nearest rows first with their squared distances", async () => {
    const rows = await joust.client.query("line", { k: 3, vector: at(10.2) });
    expect(ids(rows)).toEqual([10, 11, 9]);
    const distances = [...rows].map((row) => row._distance);
    expect(distances[0]).toBeCloseTo(0.04, 4);
    expect(distances[1]).toBeCloseTo(0.64, 4);
    expect(rows.schema.names).toEqual(["id", "label", "vector", "_distance"]);
  });

  it("returns an Arrow file, or a stream on request", async () => {
    const request = { body: { k: 1, vector: at(5) } };
    const file = await joust.client.request("/v1/table/line/query", request);
    expect(file.headers.get("content-type")).toBe("application/vnd.apache.arrow.file");
    expect(new TextDecoder().decode(file.bytes.slice(0, 6))).toBe("ARROW1");
    expect(file.headers.get("x-lancedb-version")).toBe("1");
    const streamed = await joust.client.request("/v1/table/line/query", {
      ...request,
      headers: { accept: "application/vnd.apache.arrow.stream" },
    });
    expect(streamed.headers.get("content-type")).toBe("application/vnd.apache.arrow.stream");
    expect(streamed.bytes.slice(0, 4)).toEqual(new Uint8Array([255, 255, 255, 255]));
    const either = await joust.client.request("/v1/table/line/query", {
      ...request,
      headers: {
        accept: "application/vnd.apache.arrow.stream, application/vnd.apache.arrow.file",
      },
    });
    expect(either.headers.get("content-type")).toBe("application/vnd.apache.arrow.file");
  });

  it("returns the results of several vectors in one table", async () => {
    const rows = await joust.client.query("line", {
      k: 2,
      vector: {
        multi_vector: [
          [3, 0],
          [50, 0],
          [97, 0],
        ],
      },
    });
    expect(rows.numRows).toBe(6);
    const byQuery = new Map<number, number[]>();
    for (const row of rows) {
      const result = byQuery.get(row.query_index) ?? [];
      byQuery.set(row.query_index, [...result, Number(row.id)]);
    }
    expect([...byQuery.keys()].sort()).toEqual([0, 1, 2]);
    expect(byQuery.get(0)?.[0]).toBe(3);
    expect(byQuery.get(1)?.[0]).toBe(50);
    expect(byQuery.get(2)?.[0]).toBe(97);
  });

  it("skips the requested offset", async () => {
    const rows = await joust.client.query("line", { k: 3, offset: 2, vector: at(10.2) });
    expect(ids(rows)).toEqual([9, 12, 8]);
    const beyond = await joust.client.query("line", { k: 3, offset: 1000, vector: at(10.2) });
    expect(beyond.numRows).toBe(0);
  });

  it("treats the lower bound as inclusive and the upper bound as exclusive", async () => {
    const rows = await joust.client.query("line", {
      k: 10,
      vector: at(20),
      lower_bound: 4,
      upper_bound: 16,
    });
    // Squared distances 4 and 9 on both sides.
    expect(ids(rows).sort()).toEqual([17, 18, 22, 23]);
  });

  it("filters before or after the search", async () => {
    const query = { k: 4, vector: at(10.2), filter: "label = 'odd'" };
    const before = await joust.client.query("line", { ...query, prefilter: true });
    expect(ids(before)).toEqual([11, 9, 13, 7]);
    const after = await joust.client.query("line", { ...query, prefilter: false });
    expect(ids(after)).toEqual([11, 9]);
  });

  it.each([
    ["l2", [1, 0], "b"],
    ["L2", [1, 0], "b"],
    ["cosine", [1, 0], "a"],
    ["Cosine", [1, 0], "a"],
    ["dot", [1, 0], "a"],
  ])("uses the distance %s", async (distance_type, vector, nearest) => {
    await joust.client.createTable(
      "metrics",
      stream({
        name: [type.text, ["a", "b"]],
        vector: [
          type.vector(2),
          [
            [100, 0],
            [1, 0.5],
          ],
        ],
      }),
      { mode: "overwrite" },
    );
    const rows = await joust.client.query("metrics", {
      k: 1,
      vector: { single_vector: vector },
      distance_type,
    });
    expect(rows.get(0)?.name).toBe(nearest);
  });

  it("accepts every index setting, also without an index", async () => {
    const rows = await joust.client.query("line", {
      k: 2,
      vector: at(42),
      nprobes: 5,
      minimum_nprobes: 2,
      maximum_nprobes: 0,
      ef: 50,
      refine_factor: 4,
      bypass_vector_index: true,
      vector_column: "vector",
    });
    expect(ids(rows)[0]).toBe(42);
  });

  it("returns row ids and reads an older version", async () => {
    const { client } = joust;
    await client.createTable("versions", line(3));
    await client.insert("versions", line(10));
    const rows = await client.query("versions", {
      k: 100,
      vector: at(0),
      version: 1,
      with_row_id: true,
    });
    expect(rows.numRows).toBe(3);
    expect(rows.schema.names).toContain("_rowid");
    expect(new Set([...rows].map((row) => row._rowid)).size).toBe(3);
    const latest = await client.query("versions", { k: 100, vector: at(0), version: null });
    expect(latest.numRows).toBe(13);
    expect(latest.schema.names).not.toContain("_rowid");
  });

  it("returns no rows for an empty table and for k = 0", async () => {
    const { client } = joust;
    await client.createTable("empty", emptyStream({ id: type.i64, vector: type.vector(2) }));
    const none = await client.query("empty", { k: 5, vector: at(0) });
    expect(none.numRows).toBe(0);
    expect(none.schema.names).toEqual(["id", "vector", "_distance"]);
    expect((await client.query("line", { k: 0, vector: at(0) })).numRows).toBe(0);
    const several = {
      vector: {
        multi_vector: [
          [1, 2],
          [3, 4],
        ],
      },
      offset: 1,
    };
    expect((await client.query("line", { k: 0, ...several })).numRows).toBe(0);
  });

  it("returns all rows if k exceeds the row count", async () => {
    expect((await joust.client.query("line", { k: 5000, vector: at(0) })).numRows).toBe(100);
  });

  it("chooses the column that fits the vector", async () => {
    await joust.client.createTable(
      "two_columns",
      stream({
        id: [type.i64, [1n, 2n]],
        small: [
          type.vector(2),
          [
            [0, 0],
            [9, 9],
          ],
        ],
        large: [
          type.vector(3),
          [
            [9, 9, 9],
            [0, 0, 0],
          ],
        ],
      }),
    );
    const bySmall = await joust.client.query("two_columns", { k: 1, vector: at(0) });
    expect(ids(bySmall)).toEqual([1]);
    const byLarge = await joust.client.query("two_columns", {
      k: 1,
      vector: { single_vector: [0, 0, 0] },
    });
    expect(ids(byLarge)).toEqual([2]);
  });

  it("does not return deleted rows", async () => {
    const { client } = joust;
    await client.createTable("shrinking", items(50));
    await client.ok("/v1/table/shrinking/delete", { predicate: "id < 25" });
    const rows = await client.query("shrinking", {
      k: 50,
      vector: { single_vector: Array(8).fill(0.5) },
    });
    expect(rows.numRows).toBe(25);
    expect(Math.min(...ids(rows))).toBe(25);
  });
});
