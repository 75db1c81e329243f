import { tableFromIPC } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { head, sendRaw } from "../../harness/socket.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer();
const post = (path: string, body?: object | string | Uint8Array, params?: Record<string, string>) =>
  joust.client.post(path, body, params);

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  for (const id of ["a", "b", "c", "ns$t"]) await post(`/v1/table/${id}/create/`, items(10));
});

describe("tables in the LanceDB dialect", () => {
  it("list returns the names of the root, and the page token is the last name", async () => {
    const { client } = joust;
    expect((await client.get("/v1/table/")).json).toEqual({ tables: ["a", "b", "c"] });
    const first = await client.get("/v1/table/", { limit: "2" });
    expect(first.json).toEqual({ tables: ["a", "b"], page_token: "b" });
    expect(first.headers.get("phalanx-version")).toBe("0.5.0");
    const second = await client.get("/v1/table/", { limit: "2", page_token: "b" });
    expect(second.json).toEqual({ tables: ["c"] });
    // The name need not exist.
    expect((await client.get("/v1/table/", { page_token: "aa" })).json.tables).toEqual(["b", "c"]);
    expect((await client.get("/v1/table/", { page_token: "" })).json.tables).toHaveLength(3);
  });

  it("list returns the tables of a namespace", async () => {
    expect((await joust.client.get("/v1/namespace/ns/table/list")).json).toEqual({
      tables: ["t"],
    });
  });

  it("describe uses Lance's type names and accepts an absent body and null members", async () => {
    for (const body of [undefined, {}, { version: null, branch: null }]) {
      const { json } = await post("/v1/table/ns$t/describe/", body);
      expect(json.version).toBe(1);
      expect(json.schema.fields.map((field: Json) => field.type.type)).toEqual([
        "int64",
        "string",
        "string",
        "double",
        "fixed_size_list",
      ]);
      expect(json.location).toContain(joust.root);
    }
    // The other dialect returns its own reply.
    const canonical = await post("/v1/table/ns$t/describe", {});
    expect(canonical.json.schema.fields[1].type.type).toBe("utf8");
    expectFailure(await post("/v1/table/none/describe/"), 404, 4);
    expectFailure(await post("/v1/table/a/describe/", { version: 9 }), 404, 11);
  });

  it('create and rename return 400 with "already exists" for a taken name', async () => {
    expectFailure(await post("/v1/table/a/create/", items(1)), 400, 5, /already exists/);
    expectFailure(
      await post("/v1/table/a/create/", items(1), { mode: "create" }),
      400,
      5,
      /already exists/,
    );
    expect((await post("/v1/table/a/create/", items(1), { mode: "exist_ok" })).status).toBe(200);
    expect(await joust.client.count("a")).toBe(10);
    expectFailure(
      await post("/v1/table/a/rename/", { new_table_name: "b" }),
      400,
      5,
      /already exists/,
    );
  });

  it("drop of a missing table succeeds", async () => {
    expect((await post("/v1/table/never/drop/")).status).toBe(200);
    await post("/v1/table/once/create/", items(1));
    expect((await post("/v1/table/once/drop/")).status).toBe(200);
    expectFailure(await joust.client.post("/v1/table/once/exists"), 404, 4);
  });

  it("rename moves a table to new_namespace", async () => {
    await post("/v1/table/mover/create/", items(2));
    expect((await post("/v1/table/mover/rename/", { new_table_name: "moved" })).status).toBe(200);
    const move = { new_table_name: "moved", new_namespace: ["ns"] };
    expect((await post("/v1/table/moved/rename/", move)).status).toBe(200);
    expect((await post("/v1/table/ns$moved/count_rows/", { version: null })).text).toBe("2");
  });

  it("identifiers are accepted in the form of each SDK version", async () => {
    for (const path of [
      "/v1/table/ns$t/describe/",
      "/v1/table/ns%24t/describe/",
      "/v1/table/n%73$t/describe/",
      "/v1/table/ns:t/describe/?delimiter=:",
    ]) {
      expect([path, (await post(path)).json.table]).toEqual([path, "t"]);
    }
  });

  it("requests without content-length and transfer-encoding are accepted", async () => {
    const key = `x-api-key: ${joust.client.key}`;
    for (const path of ["a/describe", "a/stats", "a/tags/list", "a/version/list"]) {
      const request = head(`POST /v1/table/${path}/ HTTP/1.1`, "Host: x", key);
      const reply = await sendRaw(joust.server.url, [request]);
      expect([path, reply?.status]).toEqual([path, 200]);
    }
  });

  it("a base address with a trailing slash is accepted", async () => {
    const reply = await joust.client.get(`${joust.server.url}//v1/table/`);
    expect(reply.status).toBe(200);
  });
});

describe("rows and queries in the LanceDB dialect", () => {
  it("insert adds and overwrites, count_rows counts and delete removes rows", async () => {
    await post("/v1/table/rows/create/", items(5));
    expect((await post("/v1/table/rows/insert/", items(5, { from: 5 }))).json.version).toBe(2);
    expect((await post("/v1/table/rows/count_rows/", { version: null })).text).toBe("10");
    expect((await post("/v1/table/rows/count_rows/", { predicate: "id < 3" })).text).toBe("3");
    const deleted = await post("/v1/table/rows/delete/", { predicate: "id < 3" });
    expect(deleted.json).toMatchObject({ num_deleted_rows: 3, version: 3 });
    expect(deleted.headers.get("x-lancedb-version")).toBe("3");
    const over = await post("/v1/table/rows/insert/", items(1), { mode: "overwrite" });
    expect(over.json.version).toBe(4);
    expect((await post("/v1/table/rows/count_rows/")).text).toBe("1");
    const stats = (await post("/v1/table/rows/stats/")).json;
    expect(stats).toMatchObject({ num_rows: 1, num_indices: 0 });
    for (const length of Object.values(stats.fragment_stats.lengths)) {
      expect(Number.isInteger(length)).toBe(true);
    }
  });

  it("query accepts a bare array as vector, null members and the largest k", async () => {
    const vector = Array(8).fill(0.5);
    const nulls = '"lower_bound":null,"upper_bound":null,"ef":null,"refine_factor":null';
    const body = `{"version":null,"prefilter":true,"k":3,"vector":${JSON.stringify(vector)},${nulls},"nprobes":20,"minimum_nprobes":20,"maximum_nprobes":20}`;
    const result = await post("/v1/table/a/query/", body);
    expect(result.status).toBe(200);
    expect(result.headers.get("content-type")).toBe("application/vnd.apache.arrow.file");
    expect(tableFromIPC(result.bytes).numRows).toBe(3);

    const all = await post(
      "/v1/table/a/query/",
      '{"version":null,"prefilter":true,"k":9223372036854775807,"vector":[],"columns":["id"],"with_row_id":true}',
    );
    const rows = tableFromIPC(all.bytes);
    expect(rows.numRows).toBe(10);
    expect(rows.schema.names).toEqual(["id", "_rowid"]);

    const aliased = await post("/v1/table/a/query/", {
      k: 1,
      vector: [],
      columns: { z: "id + 1", a: "name" },
    });
    expect(tableFromIPC(aliased.bytes).schema.names).toEqual(["z", "a"]);

    const batch = await post("/v1/table/a/query/", { k: 2, vector: [vector, vector] });
    const table = tableFromIPC(batch.bytes);
    expect(table.numRows).toBe(4);
    expect(table.schema.names).toContain("query_index");
  });

  it("query filters by _rowoffset", async () => {
    const reply = await post("/v1/table/a/query/", {
      version: null,
      prefilter: true,
      k: 100,
      vector: [],
      filter: "_rowoffset IN (3, 1)",
      columns: ["id", "_rowoffset"],
    });
    expect(reply.status).toBe(200);
    expect([...tableFromIPC(reply.bytes)].map((row) => Number(row._rowoffset))).toEqual([1, 3]);
  });

  it("explain_plan and analyze_plan return JSON strings", async () => {
    const query = { version: null, prefilter: true, k: 3, vector: Array(8).fill(0.5) };
    const plan = await post("/v1/table/a/explain_plan/", { verbose: false, query });
    expect(typeof plan.json).toBe("string");
    const analysis = await post("/v1/table/a/analyze_plan/", query, {
      distributed_metrics: "full",
    });
    expect(typeof analysis.json).toBe("string");
  });
});

describe("indexes in the LanceDB dialect", () => {
  const list = async (id: string): Promise<Json[]> =>
    (await post(`/v1/table/${id}/index/list/`, { version: null })).json.indexes;
  /** Like the SDKs: lists the indexes, then requests the statistics of each. */
  const wait = (id: string, name: string) =>
    waitFor(`${name} is built`, async () => {
      const listed = (await list(id)).some((index) => index.index_name === name);
      if (!listed) return false;
      const stats = await post(`/v1/table/${id}/index/${encodeURIComponent(name)}/stats/`, {});
      return stats.status === 200 && stats.json.num_unindexed_rows === 0 && stats.json;
    });

  beforeAll(async () => {
    await post("/v1/table/indexed/create/", items(600));
  });

  it("create_index uses the default name and reads metric_type", async () => {
    const reply = await post("/v1/table/indexed/create_index/", {
      column: "vector",
      index_type: "IVF_FLAT",
      metric_type: "cosine",
      sample_rate: 256,
      max_iterations: 50,
      num_partitions: null,
    });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ job_id: expect.any(String) });
    expect(await wait("indexed", "vector_idx")).toMatchObject({
      index_type: "IVF_FLAT",
      distance_type: "cosine",
      num_indexed_rows: 600,
    });
    const [index] = await list("indexed");
    expect(index).toMatchObject({
      index_name: "vector_idx",
      columns: ["vector"],
      index_type: "IVF_FLAT",
    });
  });

  it("create_index replaces an existing index unless replace is false", async () => {
    const scalar = { column: "id", index_type: "BTREE" };
    await post("/v1/table/indexed/create_index/", scalar);
    await wait("indexed", "id_idx");
    expectFailure(
      await post("/v1/table/indexed/create_index/", { ...scalar, replace: false }),
      400,
      7,
      /id_idx/,
    );
    expect(
      (await post("/v1/table/indexed/create_index/", { ...scalar, index_type: "BITMAP" })).status,
    ).toBe(200);
    const stats = await waitFor("it is replaced", async () => {
      const now = await wait("indexed", "id_idx");
      return now.index_type === "BITMAP" && now;
    });
    expect(stats.num_unindexed_rows).toBe(0);
  });

  it("index/list omits an index until its build has ended", async () => {
    await post("/v1/table/slow/create/", items(5000));
    await post("/v1/table/slow/create_index/", {
      column: "vector",
      index_type: "IVF_HNSW_FLAT",
      metric_type: "l2",
      m: 20,
      ef_construction: 300,
      num_partitions: 1,
    });
    expect(await list("slow")).toEqual([]);
    await wait("slow", "vector_idx");
  });

  it("drop removes an index and returns 404 for a missing one", async () => {
    expect((await post("/v1/table/indexed/index/vector_idx/drop/")).status).toBe(200);
    expectFailure(await post("/v1/table/indexed/index/vector_idx/drop/"), 404, 6);
    expectFailure(await post("/v1/table/indexed/index/vector_idx/stats/", {}), 404, 6);
  });
});

describe("namespaces in the LanceDB dialect", () => {
  it.each(["create", "exist_ok", "ExistOk"])(
    "create accepts mode %s, and drop accepts mode SKIP",
    async (mode) => {
      expect((await post(`/v1/namespace/sdk_${mode}/create`, { mode })).status).toBe(200);
      for (const behavior of ["RESTRICT", "Cascade"]) {
        const reply = await post(`/v1/namespace/sdk_${mode}/drop`, { mode: "SKIP", behavior });
        expect(reply.status).toBe(200);
      }
    },
  );
});
