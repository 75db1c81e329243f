import { Field, FixedSizeList, Float32, List, type Table, tableFromIPC, Uint8 } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const send = (id: string, body: object) => joust.client.post(`/v1/table/${id}/query/`, body);
/** Members that every SDK sends. */
const base = { version: null, prefilter: true, k: 10, vector: [] };
async function rows(id: string, body: object): Promise<Table> {
  const reply = await send(id, { ...base, ...body });
  expect([reply.status, reply.status === 200 ? "" : reply.text]).toEqual([200, ""]);
  return tableFromIPC(reply.bytes);
}
const ids = (table: Table) => [...table].map((row) => Number(row.id));
/** Members that SDKs before 0.41 send with every vector. */
const older = {
  lower_bound: null,
  upper_bound: null,
  ef: null,
  refine_factor: null,
  nprobes: 20,
  minimum_nprobes: 20,
  maximum_nprobes: 20,
};

const count = 2_000;
/** Points on a line, so that distances are known. */
const line = stream({
  id: [type.i64, Array.from({ length: count }, (_, n) => BigInt(n))],
  rank: [type.i32, Array.from({ length: count }, (_, n) => (n % 10 === 0 ? null : n % 7))],
  vector: [type.vector(2), Array.from({ length: count }, (_, n) => [n, 0])],
});

beforeAll(async () => {
  await joust.client.createTable("line", line);
  const index = { column: "vector", index_type: "IVF_FLAT", num_partitions: 20 };
  await joust.client.ok("/v1/table/line/create_index", index);
  await waitForIndex(joust.client, "line", "vector_idx");
});

describe("a vector search with the settings of an SDK version", () => {
  const k = 5;
  const near = [995, 996, 994, 997, 993];
  it.each([
    ["0.39, 0.40: all three", older],
    ["unbounded", { ...older, maximum_nprobes: 0 }],
    ["0.41: none", {}],
    ["0.41: nprobes", { nprobes: 20 }],
    ["0.41: a minimum overrides nprobes", { nprobes: 1, minimum_nprobes: 20 }],
    [
      "0.41: search_effort 0 with all partitions as minimum",
      { search_effort: 0, minimum_nprobes: 20 },
    ],
    ["0.41: search_effort 1 overrides nprobes", { nprobes: 1, search_effort: 1 }],
    ["approx_mode fast", { approx_mode: "fast", nprobes: 20 }],
    ["approx_mode accurate", { approx_mode: "accurate", nprobes: 20 }],
    ["refined", { ...older, refine_factor: 2 }],
    ["without the index", { ...older, nprobes: 1, bypass_vector_index: true }],
  ])("returns the nearest rows: %s", async (_, settings) => {
    const result = await rows("line", { k, vector: [995.2, 0], ...settings });
    expect(ids(result)).toEqual(near);
  });

  it("searches the requested number of partitions", async () => {
    // One partition of twenty cannot contain the thousand nearest rows.
    const few = { k: 1000, vector: [995.2, 0], nprobes: 1 };
    const some = (await rows("line", few)).numRows;
    expect(some).toBeLessThan(1000);
    expect((await rows("line", { ...few, minimum_nprobes: 1, maximum_nprobes: 1 })).numRows).toBe(
      some,
    );
    expect((await rows("line", { ...few, maximum_nprobes: 0 })).numRows).toBe(1000);
    expect((await rows("line", { ...few, maximum_nprobes: 20 })).numRows).toBe(1000);
    expect((await rows("line", { ...few, search_effort: 1 })).numRows).toBe(1000);
    expect((await rows("line", { ...few, search_effort: 1, maximum_nprobes: 1 })).numRows).toBe(
      some,
    );
  });

  it("returns 400 for a value out of range", async () => {
    const vector = [1, 0];
    const wrong: [object, RegExp][] = [
      [{ search_effort: 1.5 }, /search_effort/],
      [{ search_effort: -0.1 }, /search_effort/],
      [{ approx_mode: "quick" }, /approx_mode/],
      [{ minimum_nprobes: 9, maximum_nprobes: 3 }, /minimum_nprobes/],
      [{ distance_type: "chebyshev" }, /distance type/],
      [{ nprobes: -1 }, /nprobes/],
    ];
    for (const [settings, detail] of wrong) {
      expectFailure(await send("line", { ...base, vector, ...settings }), 400, 13, detail);
    }
  });

  it("applies k and offset to each of several query vectors", async () => {
    const vector = [
      [10, 0],
      [500, 0],
    ];
    const result = await rows("line", { k: 2, offset: 1, vector, ...older });
    const byQuery = (index: number) =>
      [...result]
        .filter((row) => row.query_index === index)
        .map((row) => Number(row.id))
        .sort((a, b) => a - b);
    expect(result.numRows).toBe(4);
    expect([byQuery(0), byQuery(1)]).toEqual([
      [9, 11],
      [499, 501],
    ]);
  });
});

describe("a vector column with another element type", () => {
  it("is searched by hamming distance with a float query vector converted to bytes", async () => {
    const bits = new FixedSizeList(2, new Field("item", new Uint8(), true));
    const table = stream({
      id: [type.i64, [0n, 1n, 2n]],
      vector: [
        bits,
        [
          [0, 0],
          [255, 0],
          [255, 255],
        ],
      ],
    });
    await joust.client.createTable("bits", table);
    const result = await rows("bits", { k: 3, vector: [255, 1], distance_type: "hamming" });
    expect(ids(result)).toEqual([1, 2, 0]);
    expect([...result].map((row) => row._distance)).toEqual([1, 7, 9]);
  });

  it("is searched with several query vectors as one multivector query with one limit and one offset", async () => {
    const several = new List(
      new Field("item", new FixedSizeList(2, new Field("item", new Float32(), true)), true),
    );
    const rowsOf = Array.from({ length: 6 }, (_, n) => [
      [Math.cos(n / 10), Math.sin(n / 10)],
      [1, n],
    ]);
    const table = stream({
      id: [type.i64, rowsOf.map((_, n) => BigInt(n))],
      vectors: [several, rowsOf],
    });
    await joust.client.createTable("many", table);
    const query = {
      vector: [
        [1, 0],
        [1, 0.05],
      ],
      distance_type: "cosine",
    };
    const result = await rows("many", { k: 4, ...query });
    expect(result.schema.names).not.toContain("query_index");
    expect(result.numRows).toBe(4);
    const rest = await rows("many", { k: 2, offset: 2, ...query });
    expect(ids(rest)).toEqual(ids(result).slice(2));
  });
});

describe("a plain query in the LanceDB dialect", () => {
  it("orders by several columns with the requested placement of nulls", async () => {
    const order = (nulls_first: boolean, ascending: boolean) => [
      { column_name: "rank", ascending, nulls_first },
      { column_name: "id", ascending: true, nulls_first: false },
    ];
    const first = await rows("line", {
      k: 3,
      order_by: order(true, true),
      columns: ["id", "rank"],
    });
    expect([...first].map((row) => [Number(row.id), row.rank])).toEqual([
      [0, null],
      [10, null],
      [20, null],
    ]);
    const last = await rows("line", { k: 2, order_by: order(false, false), columns: ["id"] });
    expect(ids(last)).toEqual([6, 13]);
    expect(last.schema.names).toEqual(["id"]);
    const unknown = { ...base, order_by: [{ column_name: "none", ascending: true }] };
    expectFailure(await send("line", unknown), 400, 12, /none/);
  });

  it("takes rows by id, by offset and under column aliases", async () => {
    const all = await rows("line", { k: count, columns: ["id"], with_row_id: true });
    const wanted = [...all].filter((_, n) => n % 2 === 0);
    const list = wanted.map((row) => String(row._rowid)).join(", ");
    const taken = await rows("line", { k: count, filter: `_rowid IN (${list})`, columns: ["id"] });
    expect(ids(taken)).toEqual(wanted.map((row) => Number(row.id)));
    const columns = { twice: "id * 2", id: "id", __lancedb_take_row_offset: "_rowoffset" };
    const aliased = await rows("line", { filter: "_rowoffset IN (7, 3)", columns });
    expect(aliased.schema.names).toEqual(["twice", "id", "__lancedb_take_row_offset"]);
    expect([...aliased].map((row) => row.toArray().map(Number))).toEqual([
      [6, 3, 3],
      [14, 7, 7],
    ]);
  });

  it("returns all rows for the largest k and ignores members that route to other engines", async () => {
    for (const extra of ['"use_rte":true', '"use_lsm":false', '"with_row_id":null,"branch":null']) {
      const body = `{"version":null,"prefilter":true,"k":9223372036854775807,"vector":[],${extra}}`;
      const reply = await joust.client.post("/v1/table/line/query/", body);
      expect(tableFromIPC(reply.bytes).numRows).toBe(count);
    }
  });
});

describe("a text query of an SDK version", () => {
  const text = (full_text_query: object, extra: object = {}) =>
    rows("films", { full_text_query, columns: ["id"], ...extra });
  const match = (terms: string, column: string | null = null) => ({
    match: {
      column,
      terms,
      boost: 1,
      fuzziness: 0,
      max_expansions: 50,
      operator: "Or",
      prefix_length: 0,
    },
  });

  const open = (terms: string, fuzziness: number | null, prefix_length = 0) => ({
    match: { ...match(terms, "title").match, fuzziness, prefix_length },
  });

  beforeAll(async () => {
    const titles = ["night train", "day of the fox", "the night watch", "quiet river"];
    const plots = ["a fox at night", "a train robbery", "guards and paintings", "a boat at night"];
    await joust.client.createTable(
      "films",
      stream({
        id: [type.i64, titles.map((_, n) => BigInt(n))],
        title: [type.text, titles],
        plot: [type.text, plots],
      }),
    );
    for (const column of ["title", "plot"]) {
      const index = { column, index_type: "FTS", with_position: true };
      await joust.client.ok("/v1/table/films/create_index", index);
      await waitForIndex(joust.client, "films", `${column}_idx`);
    }
  });

  it.each<[string, object, number[]]>([
    ["before 0.3.0: words in all columns", { columns: [], query: "fox" }, [0, 1]],
    ["before 0.3.0: words in one column", { columns: ["title"], query: "night" }, [0, 2]],
    ["before 0.3.0: a phrase", { columns: ["title"], query: '"night watch"' }, [2]],
    ["match", { query: match("night", "title") }, [0, 2]],
    ["match in all indexed columns", { query: match("fox") }, [0, 1]],
    ["match with null fuzziness", { query: open("nigt", null) }, [0, 2]],
    ["match with two edits", { query: open("nihgt", 2) }, [0, 2]],
    ["match with three edits and a prefix", { query: open("nightcap", 3, 5) }, [0, 2]],
    ["exact match", { query: open("nigt", 0) }, []],
    [
      "0.41: multi_match with null fuzziness",
      { query: { multi_match: { match_queries: [open("nigt", null).match] } } },
      [0, 2],
    ],
    ["phrase", { query: { phrase: { column: "plot", terms: "at night", slop: 0 } } }, [0, 3]],
    [
      "0.40: multi_match of a query and columns",
      { query: { multi_match: { query: "train", columns: ["title", "plot"], boost: [2, 1] } } },
      [0, 1],
    ],
    [
      "0.41: multi_match of both forms, match_queries takes precedence",
      {
        query: {
          multi_match: {
            query: "train",
            columns: ["title", "plot"],
            boost: [1, 1],
            match_queries: [match("river", "title").match, match("boat", "plot").match],
          },
        },
      },
      [3],
    ],
    [
      "boolean with an older multi_match inside",
      {
        query: {
          boolean: {
            should: [],
            must: [{ multi_match: { query: "night", columns: ["title", "plot"], boost: [1, 1] } }],
            must_not: [match("fox", "plot")],
          },
        },
      },
      [2, 3],
    ],
    [
      "boost",
      {
        query: {
          boost: {
            positive: match("night", "title"),
            negative: match("watch", "title"),
            negative_boost: 0.1,
          },
        },
      },
      [0, 2],
    ],
    [
      "combined_fields",
      {
        query: {
          combined_fields: {
            query: "night fox",
            columns: ["title", "plot"],
            boost: [1, 2],
            operator: "And",
          },
        },
      },
      [0],
    ],
  ])("finds the matching rows: %s", async (_, query, expected) => {
    const result = await text(query);
    expect(ids(result).sort()).toEqual(expected);
    expect(result.schema.names).toEqual(["id", "_score"]);
  });

  it("returns scores and row ids as the text part of a hybrid search", async () => {
    const result = await text({ query: match("night") }, { with_row_id: true });
    expect(result.schema.names.sort()).toEqual(["_rowid", "_score", "id"]);
  });

  it("returns 400 without a searchable term", async () => {
    const wrong = [
      { query: { multi_match: { columns: ["title"] } } },
      { query: { multi_match: { query: "a", columns: ["title"], boost: [1, 2] } } },
      { query: { match: { ...match("a").match, operator: "xor" } } },
      { query: { nosuch: {} } },
      { query: 7 },
      {},
    ];
    for (const full_text_query of wrong) {
      const reply = await send("films", { ...base, full_text_query });
      expect([JSON.stringify(full_text_query), reply.status]).toEqual([
        JSON.stringify(full_text_query),
        400,
      ]);
    }
  });
});

describe("a read with the freshness headers of the SDKs", () => {
  it("sees all earlier commits, whatever version or timestamp the headers name", async () => {
    const { client } = joust;
    await client.createTable("fresh", items(1));
    for (let version = 2; version <= 6; version++) {
      await client.insert("fresh", items(1, { from: version }));
      const headers = {
        "x-lancedb-min-version": String(version),
        "x-lancedb-min-read-version": String(version),
        "x-lancedb-min-timestamp": new Date().toISOString(),
      };
      const request = (call: string, body: object) =>
        client.request(`/v1/table/fresh/${call}/`, { body, headers });
      expect((await request("count_rows", { version: null })).text).toBe(String(version));
      expect((await request("describe", {})).json.version).toBe(version);
      const result = await request("query", { ...base, k: 100 });
      expect(tableFromIPC(result.bytes).numRows).toBe(version);
      expect(result.headers.get("x-lancedb-version")).toBe(String(version));
      expect((await request("stats", {})).json.num_rows).toBe(version);
    }
  });

  it("returns 400 for an invalid timestamp", async () => {
    const headers = { "x-lancedb-min-timestamp": "yesterday" };
    const reply = await joust.client.request("/v1/table/line/count_rows/", { headers });
    expectFailure(reply, 400, 13, /x-lancedb-min-timestamp/);
  });
});
