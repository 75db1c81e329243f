import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type, vectors } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { listIndexes, waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer({ args: ["--maintenance", "off"] });
const ROWS = 2000;
const DIMENSION = 16;
const create = (id: string, body: object) =>
  joust.client.post(`/v1/table/${id}/create_index`, body);

beforeAll(async () => {
  await joust.client.createTable("t", items(ROWS, { dimension: DIMENSION }));
});

describe("a vector index on a column with nulls", () => {
  const nulls = (id: string, count: number, filled: number) => {
    const rows = vectors(filled, DIMENSION);
    const all = Array.from({ length: count }, (_, row) => rows[row] ?? null);
    return joust.client.createTable(
      id,
      stream({
        id: [type.i64, all.map((_, row) => BigInt(row))],
        vector: [type.vector(DIMENSION), all],
      }),
    );
  };

  it.each(["IVF_PQ", "IVF_FLAT", "IVF_HNSW_SQ"])("is rejected: %s", async (index_type) => {
    await nulls(`null_${index_type}`, 1_000, 0);
    const reply = await create(`null_${index_type}`, { column: "vector", index_type });
    expectFailure(reply, 400, 13, /at least \d+ vectors.*`vector` has 0 in 1000 rows/);
    const listed = await joust.client.ok(`/v1/table/null_${index_type}/index/list`, {});
    expect(listed.indexes).toEqual([]);
  });

  it("is rejected with too few non-null vectors and built with enough", async () => {
    await nulls("few_vectors", 1_000, 100);
    const index = { column: "vector", index_type: "IVF_PQ", num_partitions: 1 };
    expectFailure(await create("few_vectors", index), 400, 13, /has 100 in 1000 rows/);
    await nulls("enough_vectors", 1_000, 400);
    expect((await create("enough_vectors", index)).status).toBe(200);
    const entry = await waitForIndex(joust.client, "enough_vectors", "vector_idx");
    expect(entry).toMatchObject({ status: "Ready", num_unindexed_rows: 0 });
  });
});

describe("a vector index", () => {
  it.each([
    ["IVF_FLAT", {}],
    ["IVF_SQ", {}],
    ["IVF_PQ", { num_sub_vectors: 4, num_bits: 8 }],
    ["IVF_RQ", { num_bits: 1 }],
    ["IVF_HNSW_FLAT", { m: 8, ef_construction: 50 }],
    ["IVF_HNSW_SQ", { m: 8, ef_construction: 50 }],
    ["IVF_HNSW_PQ", { m: 8, ef_construction: 50, num_sub_vectors: 4 }],
  ])("of type %s can be built, listed, used and dropped", async (index_type, options) => {
    const { client } = joust;
    const name = `${index_type}_index`;
    const reply = await create("t", {
      column: "vector",
      index_type,
      name,
      distance_type: "l2",
      num_partitions: 4,
      ...options,
    });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ transaction_id: expect.stringMatching(/./) });

    const entry = await waitForIndex(client, "t", name);
    expect(entry).toMatchObject({
      index_name: name,
      index_uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      columns: ["vector"],
      status: "Ready",
      index_type,
      num_indexed_rows: ROWS,
      num_unindexed_rows: 0,
    });
    expect(Date.parse(entry.created_at)).toBeGreaterThan(Date.now() - 60_000);
    expect(await client.ok(`/v1/table/t/index/${name}/stats`, {})).toMatchObject({
      index_type,
      distance_type: "l2",
      num_indexed_rows: ROWS,
      num_unindexed_rows: 0,
    });

    const [wanted] = vectors(ROWS, DIMENSION);
    const result = await client.query("t", {
      k: 10,
      vector: { single_vector: wanted },
      nprobes: 4,
      ef: 300,
      // More candidates than the rows around one center: refining corrects the quantization.
      refine_factor: 20,
      columns: { column_names: ["id"] },
    });
    expect([...result].map((row) => Number(row.id))).toContain(0);
    const plan = await client.ok("/v1/table/t/explain_plan", {
      query: { k: 10, vector: { single_vector: wanted } },
    });
    expect(plan).toMatch(/ANN/);
    const flat = await client.ok("/v1/table/t/explain_plan", {
      query: { k: 10, vector: { single_vector: wanted }, bypass_vector_index: true },
    });
    expect(flat).not.toMatch(/ANN/);

    const dropped = await client.post(`/v1/table/t/index/${name}/drop`);
    expect(dropped.status).toBe(200);
    expectFailure(await client.post(`/v1/table/t/index/${name}/stats`), 404, 6);
  });

  it.each(["ivf_flat", "IvfFlat", "IVFFLAT"])("type can be spelled %s", async (index_type) => {
    const name = `spelled_${index_type}`;
    await create("t", { column: "vector", index_type, name, num_partitions: 2 });
    expect((await waitForIndex(joust.client, "t", name)).index_type).toBe("IVF_FLAT");
    await joust.client.ok(`/v1/table/t/index/${name}/drop`);
  });

  it.each(["cosine", "dot", "Cosine"])("uses the distance %s", async (distance_type) => {
    const name = `metric_${distance_type}`;
    await create("t", {
      column: "vector",
      index_type: "IVF_FLAT",
      name,
      distance_type,
      num_partitions: 2,
    });
    await waitForIndex(joust.client, "t", name);
    const stats = await joust.client.ok(`/v1/table/t/index/${name}/stats`);
    expect(stats.distance_type).toBe(distance_type.toLowerCase());
    await joust.client.ok(`/v1/table/t/index/${name}/drop`);
  });

  it("counts later rows as unindexed, and searches find them", async () => {
    const { client } = joust;
    await client.createTable("growing", items(500));
    await create("growing", { column: "vector", index_type: "IVF_FLAT", num_partitions: 2 });
    await waitForIndex(client, "growing", "vector_idx");
    const far = Array(8).fill(100);
    await client.insert(
      "growing",
      stream({ id: [type.i64, [777n]], vector: [type.vector(8), [far]] }),
    );
    const query = { k: 1, vector: { single_vector: far }, columns: { column_names: ["id"] } };
    expect(Number((await client.query("growing", query)).get(0)?.id)).toBe(777);
    // fast_search reads indexed rows only.
    const fast = await client.query("growing", { ...query, fast_search: true });
    expect(Number(fast.get(0)?.id)).not.toBe(777);
    const stats = await client.ok("/v1/table/growing/index/vector_idx/stats");
    expect(stats).toMatchObject({ num_indexed_rows: 500, num_unindexed_rows: 1 });
    const older = await client.ok("/v1/table/growing/index/vector_idx/stats", { version: 2 });
    expect(older).toMatchObject({ num_indexed_rows: 500, num_unindexed_rows: 0 });
  });

  it("with 4-bit codes can be built and replaced if the dimension has few divisors", async () => {
    const { client } = joust;
    await client.createTable("four", items(300, { dimension: 8 }));
    const four = { column: "vector", index_type: "IVF_PQ", num_bits: 4 };
    for (const replace of [false, true]) {
      expect((await create("four", { ...four, replace })).status).toBe(200);
      const entry = await waitForIndex(client, "four", "vector_idx");
      expect(entry).toMatchObject({ index_type: "IVF_PQ", num_indexed_rows: 300 });
    }
    const odd = await create("four", { ...four, name: "odd", num_sub_vectors: 1 });
    expectFailure(odd, 400, 13, /even/);
  });

  it("whose partitions cannot be split reports the cause", async () => {
    const { client } = joust;
    const rows = Array.from({ length: 1000 }, (_, n) => n);
    const same = rows.map((n) => Array.from({ length: 8 }, (_, at) => Number(n % 5 === at)));
    await client.createTable("unsplittable", stream({ vector: [type.vector(8), same] }));
    // More than 256 partitions are created by splitting.
    const index = { column: "vector", index_type: "IVF_FLAT", distance_type: "dot" };
    const options = { ...index, num_partitions: 300, max_iterations: 10 };
    const { job_id } = await client.ok("/v1/table/unsplittable/create_index/", options);
    const failed = await waitFor("the build failed", async () => {
      const job = await client.ok("/v1/jobs/describe", { job_id });
      return job.job_state === "FAILED" && job;
    });
    const reason = /Cannot create 300 IVF partitions: k-means could only form/;
    expect(failed.failure.message).toMatch(reason);
    const [entry] = await listIndexes(client, "unsplittable");
    expect(entry?.status).toBe("Failed");
    expect(JSON.parse(entry?.index_details).error.message).toMatch(reason);
  });
});
