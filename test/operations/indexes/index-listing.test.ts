import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Field, FixedSizeList, Int8 } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items, stream } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { listIndexes, waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer();
const create = (id: string, body: object) =>
  joust.client.post(`/v1/table/${id}/create_index`, body);
/** A build of about a second on a table of 5,000 rows. */
const slow = {
  column: "vector",
  index_type: "IVF_HNSW_FLAT",
  num_partitions: 1,
  m: 20,
  ef_construction: 300,
};
const names = async (id: string, body: object = {}) => {
  const { indexes } = await joust.client.ok(`/v1/table/${id}/index/list`, body);
  return indexes.map((index: Json) => index.index_name);
};

beforeAll(async () => {
  await joust.client.createTable("t", items(300));
});

describe("the index listing", () => {
  it("is empty at first and paged by name later", async () => {
    const { client } = joust;
    await client.createTable("paged", items(10));
    expect(await client.ok("/v1/table/paged/index/list")).toEqual({ indexes: [] });
    for (const name of ["c", "a", "b"]) {
      await create("paged", { column: "id", index_type: "BTREE", name });
      await waitForIndex(client, "paged", name);
    }
    expect(await names("paged")).toEqual(["a", "b", "c"]);
    const first = await client.ok("/v1/table/paged/index/list", { limit: 2 });
    expect(first.indexes).toHaveLength(2);
    const { page_token } = first;
    const second = await client.ok("/v1/table/paged/index/list", { limit: 2, page_token });
    expect(second.indexes.map((index: Json) => index.index_name)).toEqual(["c"]);
    expect(second).not.toHaveProperty("page_token");
    // The version after the first build has no other index.
    expect(await names("paged", { version: 2 })).toEqual(["c"]);
    for (const name of ["a", "b", "c"]) await client.ok(`/v1/table/paged/index/${name}/drop`);
    expect(await names("paged")).toEqual([]);
  });

  it("shows a build from start to end", async () => {
    const { client } = joust;
    await client.createTable("watched", items(5000));
    const { transaction_id } = (await create("watched", slow)).json;
    const [entry] = await listIndexes(client, "watched");
    expect(entry).toMatchObject({
      index_name: "vector_idx",
      index_uuid: transaction_id,
      columns: ["vector"],
      index_type: "IVF_HNSW_FLAT",
    });
    expect(["Queued", "Building"]).toContain(entry.status);
    const stats = await client.ok("/v1/table/watched/index/vector_idx/stats");
    expect(stats).toMatchObject({
      index_type: "IVF_HNSW_FLAT",
      num_indexed_rows: 0,
      num_unindexed_rows: 5000,
    });
    await waitFor("progress is shown", async () => {
      const [now] = await listIndexes(client, "watched");
      return now.status === "Building" && JSON.parse(now.index_details).progress?.stage;
    });
    expect(await waitForIndex(client, "watched", "vector_idx")).toMatchObject({
      num_indexed_rows: 5000,
      num_unindexed_rows: 0,
    });
  });

  it("does not show an index that was dropped during its build", async () => {
    const { client } = joust;
    await client.createTable("undecided", items(5000));
    await create("undecided", slow);
    expect((await client.post("/v1/table/undecided/index/vector_idx/drop")).status).toBe(200);
    expect(await names("undecided")).toEqual([]);
    // The cancelled build does not reappear.
    await create("undecided", { column: "id", index_type: "BTREE" });
    await waitForIndex(client, "undecided", "id_idx");
    expect(await names("undecided")).toEqual(["id_idx"]);
    const again = await client.post("/v1/table/undecided/index/vector_idx/drop");
    expectFailure(again, 404, 6, /vector_idx/);
  });

  it("does not block a drop of the table during a build", async () => {
    const { client } = joust;
    await client.createTable("doomed", items(5000));
    await create("doomed", slow);
    expect((await client.post("/v1/table/doomed/drop")).status).toBe(200);
    await client.createTable("doomed", items(3));
    expect(await listIndexes(client, "doomed")).toEqual([]);
  });

  it.each([
    [{ limit: 0 }, 400, 13, /limit/],
    [{ limit: "two" }, 400, 13, /limit/],
    [{ page_token: "*" }, 400, 13, /page_token/],
    [{ version: -1 }, 400, 13, /version/],
    [{ version: 999 }, 404, 11, /999/],
    [{ branch: "dev" }, 404, 22, /dev/],
  ])("rejects %o", async (body, status, code, detail) => {
    expectFailure(await joust.client.post("/v1/table/t/index/list", body), status, code, detail);
  });

  it("returns 404 for a missing table", async () => {
    expectFailure(await joust.client.post("/v1/table/none/index/list"), 404, 4, /none/);
  });
});

describe("create index", () => {
  it("rejects a taken name whether the index is ready or not", async () => {
    const { client } = joust;
    await client.createTable("taken", items(5000));
    const scalar = { column: "id", index_type: "BTREE", name: "vector_idx" };
    await create("taken", slow);
    expectFailure(await create("taken", scalar), 409, 7, /vector_idx/);
    await waitForIndex(client, "taken", "vector_idx");
    expectFailure(await create("taken", scalar), 409, 7, /vector_idx/);
    expectFailure(await create("taken", slow), 409, 7, /vector_idx/);
  });

  it("starts one build for two equal requests", async () => {
    await joust.client.createTable("wished", items(5000));
    const first = await create("wished", slow);
    const second = await create("wished", slow);
    expect(second.status).toBe(200);
    expect(second.json).toEqual(first.json);
  });

  it("with replace replaces a build in progress", async () => {
    const { client } = joust;
    await client.createTable("reconsidered", items(5000));
    await create("reconsidered", slow);
    const reply = await create("reconsidered", {
      column: "id",
      index_type: "BTREE",
      name: "vector_idx",
      replace: true,
    });
    expect(reply.status).toBe(200);
    expect(await waitForIndex(client, "reconsidered", "vector_idx")).toMatchObject({
      index_type: "BTREE",
      columns: ["id"],
    });
  });

  it("names an index after its column by default", async () => {
    await joust.client.createTable("named", items(10));
    await create("named", { column: "price", index_type: "BTREE" });
    expect((await waitForIndex(joust.client, "named", "price_idx")).columns).toEqual(["price"]);
  });

  it("replaces an index on request and shows the new build", async () => {
    const { client } = joust;
    await client.createTable("replaced", items(5000));
    await create("replaced", { column: "vector", index_type: "IVF_FLAT", num_partitions: 1 });
    const before = await waitForIndex(client, "replaced", "vector_idx");
    await create("replaced", { ...slow, replace: true });
    const [during] = await listIndexes(client, "replaced");
    // The old index still answers queries; the status is that of the new build.
    expect(during).toMatchObject({ index_uuid: before.index_uuid, index_type: "IVF_FLAT" });
    expect(["Queued", "Building"]).toContain(during.status);
    const after = await waitForIndex(client, "replaced", "vector_idx");
    expect(after.index_type).toBe("IVF_HNSW_FLAT");
  });

  it("does not replace an index of another column", async () => {
    const { client } = joust;
    await client.createTable("other_column", items(10));
    await create("other_column", { column: "id", index_type: "BTREE", name: "mine" });
    await waitForIndex(client, "other_column", "mine");
    const other = { column: "price", index_type: "BTREE", name: "mine", replace: true };
    expectFailure(await create("other_column", other), 409, 7, /mine/);
    expect((await waitForIndex(client, "other_column", "mine")).columns).toEqual(["id"]);
  });

  it("rejects an index that could not be searched: vectors of 8-bit integers", async () => {
    const { client } = joust;
    const bytes = new FixedSizeList(2, new Field("item", new Int8(), true));
    const rows = [
      [1, -1],
      [2, -2],
    ];
    await client.createTable("bytes", stream({ vector: [bytes, rows] }));
    for (const index_type of ["IVF_FLAT", "IVF_PQ", "IVF_SQ", "IVF_HNSW_SQ"]) {
      const refused = await create("bytes", { column: "vector", index_type });
      expectFailure(refused, 400, 13, /8-bit integers/);
    }
    const result = await client.query("bytes", { k: 1, vector: [2, -1] });
    expect(result.toArray().map((row) => row._distance)).toEqual([1]);
  });

  it("is cancelled if the table is overwritten", async () => {
    const { client } = joust;
    await client.createTable("overwritten", items(5000));
    await create("overwritten", slow);
    await client.createTable("overwritten", items(10), { mode: "overwrite" });
    expect(await listIndexes(client, "overwritten")).toEqual([]);
    await create("overwritten", { column: "id", index_type: "BTREE" });
    await waitForIndex(client, "overwritten", "id_idx");
    expect(await names("overwritten")).toEqual(["id_idx"]);
  });

  it.each([
    ["no column", { index_type: "BTREE" }, 400, 13, /column/],
    ["an empty column", { column: "", index_type: "BTREE" }, 400, 13, /column/],
    ["no type", { column: "id" }, 400, 13, /index_type/],
    ["an unknown type", { column: "id", index_type: "HASH" }, 400, 13, /HASH/],
    ["an unknown column", { column: "nope", index_type: "BTREE" }, 404, 12, /nope/],
    ["a vector index on text", { column: "name", index_type: "IVF_PQ" }, 400, 13, /name/],
    ["a scalar index on vectors", { column: "vector", index_type: "BTREE" }, 400, 13, /vector/],
    [
      "LABEL_LIST on a column that is not a list",
      { column: "name", index_type: "LABEL_LIST" },
      400,
      13,
      /list/,
    ],
    [
      "an unknown distance",
      { column: "vector", index_type: "IVF_FLAT", distance_type: "x" },
      400,
      13,
      /l2/,
    ],
    [
      "hamming on floats",
      { column: "vector", index_type: "IVF_FLAT", distance_type: "hamming" },
      400,
      13,
      /hamming/,
    ],
    [
      "no partitions",
      { column: "vector", index_type: "IVF_FLAT", num_partitions: 0 },
      400,
      13,
      /num_partitions/,
    ],
    [
      "partitions as a string",
      { column: "vector", index_type: "IVF_FLAT", num_partitions: "4" },
      400,
      13,
      /num_partitions/,
    ],
    [
      "sub-vectors that do not divide the dimension",
      { column: "vector", index_type: "IVF_PQ", num_sub_vectors: 3 },
      400,
      13,
      /num_sub_vectors/,
    ],
    [
      "a number of bits that PQ does not support",
      { column: "vector", index_type: "IVF_PQ", num_bits: 5 },
      400,
      13,
      /num_bits/,
    ],
    ["an empty name", { column: "id", index_type: "BTREE", name: "" }, 400, 13, /name/],
    ["a name that is a number", { column: "id", index_type: "BTREE", name: 1 }, 400, 13, /name/],
    ["another branch", { column: "id", index_type: "BTREE", branch: "dev" }, 404, 22, /dev/],
  ])("rejects %s at once", async (_, body, status, code, detail) => {
    expectFailure(await create("t", body), status, code, detail);
    expect(await listIndexes(joust.client, "t")).toEqual([]);
  });

  it("returns 404 for a missing table, and drop index returns 404 for a missing index", async () => {
    const { client } = joust;
    expectFailure(await create("none", { column: "id", index_type: "BTREE" }), 404, 4, /none/);
    expectFailure(await client.post("/v1/table/t/index/none/stats"), 404, 6, /none/);
    expectFailure(await client.post("/v1/table/t/index/none/drop"), 404, 6, /none/);
    expectFailure(await client.post("/v1/table/nowhere/index/none/drop"), 404, 4, /nowhere/);
  });

  it("accepts index names that must be escaped in a path", async () => {
    const { client } = joust;
    const name = "naïve / 50%";
    await create("t", { column: "id", index_type: "BTREE", name });
    await waitForIndex(client, "t", name);
    const path = `/v1/table/t/index/${encodeURIComponent(name)}`;
    expect((await client.ok(`${path}/stats`)).num_unindexed_rows).toBe(0);
    await client.ok(`${path}/drop`);
    expect(await listIndexes(client, "t")).toEqual([]);
  });
});

describe("a failed index build", () => {
  const failing = { column: "id", index_type: "BTREE" };

  it("is listed with its cause until it is dropped", async () => {
    const { client } = joust;
    const { location } = await client.createTable("broken", items(20));
    // The manifest suffices to plan the index; the missing rows fail the build.
    rmSync(join(location, "data"), { recursive: true });
    expect((await create("broken", failing)).status).toBe(200);
    const failed = await waitFor("the build failed", async () => {
      const [entry] = await listIndexes(client, "broken");
      return entry?.status === "Failed" && entry;
    });
    expect(failed).toMatchObject({ index_name: "id_idx", columns: ["id"], index_type: "BTREE" });
    const { error } = JSON.parse(failed.index_details);
    expect(error.message).toMatch(/\w/);
    expect(error.message).not.toContain(joust.root);
    const stats = await client.post("/v1/table/broken/index/id_idx/stats");
    expectFailure(stats, 404, 6, /failed/);
    expect((await client.post("/v1/table/broken/index/id_idx/drop")).status).toBe(200);
    expect(await listIndexes(client, "broken")).toEqual([]);
    expectFailure(await client.post("/v1/table/broken/index/id_idx/drop"), 404, 6);
  });

  it("can be repeated", async () => {
    const { client } = joust;
    const { location } = await client.createTable("mended", items(20));
    const data = join(location, "data");
    renameSync(data, `${data}.away`);
    await create("mended", failing);
    await waitFor("the build failed", async () => {
      const [entry] = await listIndexes(client, "mended");
      return entry?.status === "Failed";
    });
    renameSync(`${data}.away`, data);
    expect((await create("mended", failing)).status).toBe(200);
    await waitFor("it is ready", async () => {
      const [entry] = await listIndexes(client, "mended");
      return entry?.status === "Ready";
    });
  });
});
